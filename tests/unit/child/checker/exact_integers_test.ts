// 64-bit integers and floats keep their exact values through every keyword that compares numbers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { checkArguments } from '../../../../src/child/checker/check_arguments.ts';
import { compileSchema } from '../../../../src/child/checker/compile_schema.ts';
import { isMultipleOf } from '../../../../src/child/checker/exact_numbers.ts';

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, variableMapSize: true });

/** `ok`, or the message about the value `n` under a subschema. */
function check(schema: unknown, n: unknown): string {
  const compiled = compileSchema(packr.pack({ properties: { n: schema } }));
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.message);
  const result = checkArguments(compiled.schema, packr.pack({ n }));
  return result.ok ? 'ok' : result.message;
}

const limit = 9_007_199_254_740_992n; // 2^53

test('bounds hold to the last digit beyond 2^53, in the schema and in the value', () => {
  assert.equal(check({ maximum: limit }, limit), 'ok');
  assert.equal(
    check({ maximum: limit }, limit + 1n),
    'arguments.n must be at most 9007199254740992, got 9007199254740993',
  );
  assert.equal(check({ maximum: limit + 1n }, limit + 1n), 'ok');
  assert.equal(
    check({ minimum: limit + 1n }, limit),
    'arguments.n must be at least 9007199254740993, got 9007199254740992',
  );
  assert.equal(
    check({ minimum: -limit }, -limit - 1n),
    'arguments.n must be at least -9007199254740992, got -9007199254740993',
  );
  assert.equal(check({ exclusiveMaximum: limit + 1n }, limit), 'ok');
  assert.equal(
    check({ exclusiveMinimum: limit }, limit),
    'arguments.n must be more than 9007199254740992, got 9007199254740992',
  );
  assert.equal(check({ maximum: 9.5 }, limit), 'arguments.n must be at most 9.5, got 9007199254740992');
  assert.equal(check({ maximum: 2 ** 64 }, 18_446_744_073_709_551_615n), 'ok');
  assert.equal(
    check({ exclusiveMaximum: 2 ** 64 }, 2 ** 64),
    'arguments.n must be less than 18446744073709552000, got 18446744073709552000',
  );
});

test('a 64-bit integer is an integer and a number, and nothing else', () => {
  for (const n of [limit + 1n, -(2n ** 63n), 2n ** 64n - 1n]) {
    assert.equal(check({ type: 'integer' }, n), 'ok');
    assert.equal(check({ type: 'number' }, n), 'ok');
    assert.equal(check({ type: ['string', 'null'] }, n), `arguments.n must be string or null, got number ${n}`);
  }
});

test('const, enum and uniqueItems tell neighbours beyond 2^53 apart, however deep', () => {
  assert.equal(check({ const: limit + 1n }, limit + 1n), 'ok');
  assert.equal(check({ const: limit + 1n }, limit), 'arguments.n must be 9007199254740993, got 9007199254740992');
  assert.equal(
    check({ enum: [limit, 'x'] }, limit + 1n),
    'arguments.n must be one of 9007199254740992, "x", got 9007199254740993',
  );
  assert.equal(
    check({ const: { a: [limit + 1n] } }, { a: [limit] }),
    'arguments.n must be {"a": [9007199254740993]}, got {"a": [9007199254740992]}',
  );
  assert.equal(check({ uniqueItems: true }, [limit, limit + 1n]), 'ok');
  assert.equal(
    check({ uniqueItems: true }, [limit, 1, Number(limit)]),
    'arguments.n must have items that are all different, got the same at [0] and [2]',
  );
});

test('an integral float is an integer and equals one', () => {
  assert.equal(check({ type: 'integer', const: 1 }, 1.0), 'ok');
  assert.equal(check({ type: 'integer' }, 1e300), 'ok');
  assert.equal(check({ const: limit }, 2 ** 53), 'ok');
  assert.equal(check({ type: 'integer' }, 0.5), 'arguments.n must be integer, got number 0.5');
  assert.equal(check({ const: 0 }, -0), 'ok');
  assert.equal(check({ const: 1 }, true), 'arguments.n must be 1, got true');
});

test('multipleOf is decided by decimal digits', () => {
  const rows: readonly (readonly [number | bigint, number | bigint, boolean])[] = [
    [0.3, 0.1, true],
    [19.99, 0.01, true],
    [0.35, 0.1, false],
    [1e308, 0.5, true],
    [5e-324, 5e-324, true],
    [1e-7, 1e-8, true],
    [9_007_199_254_740_993n, 3, true],
    [9_007_199_254_740_993n, 2, false],
    [9_007_199_254_740_993n, 0.5, true],
    [-18_446_744_073_709_551_614n, 9_223_372_036_854_775_807n, true],
    [0, 7, true],
    [-6, 4, false],
  ];
  for (const [value, step, outcome] of rows) assert.equal(isMultipleOf(value, step), outcome, `${value} of ${step}`);
  assert.equal(check({ multipleOf: 2 }, limit + 1n), 'arguments.n must be a multiple of 2, got 9007199254740993');
});

test('numbers that JSON has not are refused', () => {
  assert.equal(check({}, NaN), 'arguments.n must be a finite number, got NaN; JSON has no NaN');
  assert.equal(
    check({}, [1, -Infinity]),
    'arguments.n[1] must be a finite number, got -Infinity; JSON has no -Infinity',
  );
});
