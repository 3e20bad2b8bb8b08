// The table of limits, row by row: defaults, bounds, and what a request may do to each.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import {
  defaultLimits,
  defaultMostComputeMs,
  type LimitName,
  limitNames,
  type Limits,
  limitTable,
  lowerLimits,
} from '../../../src/protocol/limits.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const refusal = (reason: string) => new ProtocolError('invalid_params', `Cannot run program: ${reason}`);
const languages = ['lua', 'javascript'] as const;

test('the defaults are the numbers of the documentation', () => {
  assert.deepEqual(defaultLimits('lua'), {
    source_bytes: 64 * KiB,
    calls: 64,
    compute_ms: 30_000,
    wall_ms: 600_000,
    memory_bytes: 64 * MiB,
    printed_bytes: 8 * MiB,
    result_bytes: MiB,
    total_result_bytes: 8 * MiB,
    return_bytes: null,
    report_chars: 30_000,
  });
  assert.deepEqual(defaultLimits('javascript'), {
    source_bytes: 64 * KiB,
    calls: 200,
    compute_ms: 60_000,
    wall_ms: 3_600_000,
    memory_bytes: 32 * MiB,
    printed_bytes: 8 * MiB,
    result_bytes: MiB,
    total_result_bytes: 8 * MiB,
    return_bytes: 256 * KiB,
    report_chars: 30_000,
  });
  assert.equal(defaultMostComputeMs, 120_000);
});

test('every row has positive bounds that hold its defaults, a unit and a meaning', () => {
  for (const name of limitNames) {
    const { least, most, lua, javascript, meaning } = limitTable[name];
    assert.ok(least >= 1 && least <= most, name);
    for (const value of [lua, javascript]) assert.ok(value === null || (value >= least && value <= most), name);
    assert.ok(meaning.length > 5 && !meaning.endsWith('.'), name);
    assert.ok(name.endsWith(`_${limitTable[name].unit}`) || ['calls', 'characters'].includes(limitTable[name].unit));
  }
});

test('the defaults and what is made of them cannot be changed', () => {
  assert.ok(Object.isFrozen(defaultLimits('lua')));
  assert.ok(Object.isFrozen(lowerLimits(defaultLimits('lua'), { calls: 1 }, defaultMostComputeMs)));
});

for (const language of languages) {
  const configured = defaultLimits(language);
  const own = limitNames.filter((name) => configured[name] !== null);

  test(`a request may lower each limit of ${language}, and changes no other`, () => {
    for (const name of own) {
      for (const value of new Set([limitTable[name].least, configured[name]!])) {
        assert.deepEqual(lowerLimits(configured, { [name]: value }, defaultMostComputeMs), {
          ...configured,
          [name]: value,
        });
      }
    }
    assert.deepEqual(lowerLimits(configured, {}, defaultMostComputeMs), configured);
  });

  test(`no limit of ${language} can be set below its least, or to anything but a whole number`, () => {
    for (const name of own) {
      const { least } = limitTable[name];
      for (const value of [least - 1, 0, -1, least + 0.5, NaN, Infinity, -Infinity, -0]) {
        assert.throws(
          () => lowerLimits(configured, { [name]: value }, defaultMostComputeMs),
          refusal(`limits.${name} must be a whole number of at least ${least}, got ${value}`),
        );
      }
      for (const value of ['5', null, undefined, true, 5n, [5]]) {
        const asked = { [name]: value } as unknown as Record<string, number>;
        assert.throws(
          () => lowerLimits(configured, asked, defaultMostComputeMs),
          refusal(`limits.${name} must be a whole number of at least ${least}, got ${value}`),
        );
      }
    }
  });

  test(`only compute of ${language} can be raised, to what is configured`, () => {
    for (const name of own) {
      const most = name === 'compute_ms' ? defaultMostComputeMs : configured[name]!;
      for (const value of [most + 1, limitTable[name].most * 10, Number.MAX_SAFE_INTEGER]) {
        assert.throws(
          () => lowerLimits(configured, { [name]: value }, defaultMostComputeMs),
          refusal(
            `limits.${name} must be at most ${most}, got ${value}${
              name === 'compute_ms' ? '' : '; a request may only lower it'
            }`,
          ),
        );
      }
    }
    const raised = lowerLimits(configured, { compute_ms: 120_000 }, defaultMostComputeMs);
    assert.equal(raised.compute_ms, 120_000);
    assert.equal(
      lowerLimits({ ...configured, compute_ms: 200_000 }, { compute_ms: 200_000 }, 120_000).compute_ms,
      200_000,
    );
  });
}

test('a name that is no limit is refused, whatever object it could be found on', () => {
  const configured = defaultLimits('lua');
  for (const name of ['cals', 'constructor', 'toString', '', '__proto__']) {
    const asked = Object.fromEntries([[name, 5]]);
    assert.throws(
      () => lowerLimits(configured, asked, defaultMostComputeMs),
      refusal(`limits.${name} is no limit; the limits are ${limitNames.join(', ')}`),
    );
  }
});

test('a limit that the language does not have is refused as such', () => {
  const missing = limitNames.filter((name) => limitTable[name].lua === null);
  assert.deepEqual(missing, ['return_bytes'] satisfies LimitName[]);
  assert.throws(
    () => lowerLimits(defaultLimits('lua'), { return_bytes: 5 }, defaultMostComputeMs),
    refusal('limits.return_bytes does not apply to this language'),
  );
});

test('limits that were configured lower bind the request', () => {
  const configured: Limits = { ...defaultLimits('lua'), calls: 10 };
  assert.throws(
    () => lowerLimits(configured, { calls: 11 }, defaultMostComputeMs),
    refusal('limits.calls must be at most 10, got 11; a request may only lower it'),
  );
});
