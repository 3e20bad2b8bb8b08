// The table of failure kinds and the list of error codes: complete, and in the words of the protocol.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCodes, fromErrorValue, ProtocolError, toErrorMap } from '../../../src/protocol/errors.ts';
import { kindTable } from '../../../src/protocol/failures.ts';

test('the kinds are those of the protocol, and only compile is a fault', () => {
  assert.deepEqual(Object.keys(kindTable), [
    'ok',
    'compile',
    'error',
    'denied',
    'time',
    'memory',
    'calls',
    'results',
    'history',
    'interrupted',
    'crashed',
  ]);
  for (const [kind, { fault }] of Object.entries(kindTable)) assert.equal(fault, kind === 'compile', kind);
});

test('each kind has a meaning, and advice that says what survives, where there is something to do', () => {
  for (const [kind, { meaning, recovery }] of Object.entries(kindTable)) {
    assert.match(meaning, /^[a-z].*[^.]$/, kind);
    if (kind === 'ok' || kind === 'interrupted') {
      assert.equal(recovery, undefined);
      continue;
    }
    assert.match(recovery!, /^[A-Z].*[^.]$/, kind);
    assert.match(recovery!, kind === 'compile' ? /no call was made/ : /calls that completed remain in effect/, kind);
  }
});

test('the error codes are those of the protocol, each once', () => {
  assert.equal(new Set(errorCodes).size, errorCodes.length);
  assert.deepEqual([...errorCodes].sort(), [
    'busy',
    'denied',
    'disabled',
    'duplicate_run',
    'forbidden',
    'inspect_only',
    'internal',
    'invalid_message',
    'invalid_params',
    'message_too_large',
    'no_such_run',
    'no_such_session',
    'no_such_turn',
    'not_hello',
    'plan_mode',
    'shutting_down',
    'too_many_requests',
    'unauthorized',
    'unknown_method',
    'unsupported_protocol',
  ]);
});

test('an error map says no more than it has, and comes back as it went', () => {
  assert.deepEqual(toErrorMap(new ProtocolError('busy', 'full')), { code: 'busy', message: 'full' });
  assert.deepEqual(toErrorMap(new ProtocolError('busy', 'full', null)), { code: 'busy', message: 'full', data: null });
  assert.deepEqual(toErrorMap(new Error('bug')), { code: 'internal', message: 'bug' });
  assert.deepEqual(toErrorMap(undefined), { code: 'internal', message: 'undefined' });
  for (const code of errorCodes) {
    const map = { code, message: 'm', data: { a: [1] } };
    assert.deepEqual(fromErrorValue(toErrorMap(new ProtocolError(code, 'm', { a: [1] }))), map);
  }
});
