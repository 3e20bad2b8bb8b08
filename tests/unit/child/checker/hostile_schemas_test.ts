// Schemas and arguments made to break the checker: code in names, names of prototypes, patterns and references that
// explode, identifiers that collide. Nothing may run, hang, leak or be skipped.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { checkArguments } from '../../../../src/child/checker/check_arguments.ts';
import { compileSchema } from '../../../../src/child/checker/compile_schema.ts';

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, variableMapSize: true });

function compile(schema: unknown) {
  return compileSchema(packr.pack(schema));
}

function check(schema: unknown, args: unknown): string {
  const compiled = compile(schema);
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.message);
  const result = checkArguments(compiled.schema, packr.pack(args));
  return result.ok ? 'ok' : result.message;
}

/** A map with one entry, whatever its name. */
function entry(name: string, value: unknown): Map<string, unknown> {
  return new Map([[name, value]]);
}

const prototypeNames = [
  '__proto__',
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'prototype',
  '__defineGetter__',
  'length',
  '$ref',
  '$id',
  '',
];

test('names of prototypes are ordinary names, in schemas and in arguments', () => {
  for (const name of prototypeNames) {
    const number = { properties: entry(name, { type: 'number' }) };
    const shown = JSON.stringify(name);
    const place = /^[A-Za-z_$][\w$-]*$/.test(name) ? `arguments.${name}` : `arguments[${shown}]`;
    assert.equal(check(number, entry(name, 1)), 'ok', name);
    assert.equal(check(number, entry(name, 'x')), `${place} must be number, got string "x"`);
    assert.equal(check(number, {}), 'ok');
    assert.equal(check({ required: [name] }, {}), `arguments must have required property ${shown}`);
    assert.equal(check({ required: [name] }, entry(name, null)), 'ok');
    assert.equal(check({ ...number, additionalProperties: false }, entry(name, 1)), 'ok');
    assert.equal(check({ additionalProperties: false }, entry(name, 1)), `arguments has no property ${shown}`);
    assert.equal(check({ unevaluatedProperties: false }, entry(name, 1)), `arguments has no property ${shown}`);
    assert.equal(
      check({ anyOf: [{ properties: { a: true } }], unevaluatedProperties: false }, entry(name, 1)),
      `arguments has no property ${shown}`,
    );
    assert.equal(
      check({ ...number, patternProperties: { '^a': true }, unevaluatedProperties: false }, entry(name, 1)),
      'ok',
    );
    assert.equal(
      check({ patternProperties: { '^a': true }, unevaluatedProperties: false }, entry(name, 1)),
      `arguments has no property ${shown}`,
    );
    assert.equal(check({ propertyNames: { const: name } }, entry(name, 1)), 'ok');
    assert.equal(check({ propertyNames: { maxLength: name.length } }, entry(name, 1)), 'ok');
    assert.equal(check({ dependentSchemas: entry(name, { required: ['b'] }) }, {}), 'ok');
    assert.equal(
      check({ dependentRequired: entry(name, ['b']) }, entry(name, 1)),
      `arguments must have property "b" because it has ${shown}`,
    );
    assert.equal(check({ const: entry(name, 1) }, entry(name, 1)), 'ok');
    assert.equal(
      check({ properties: { a: { const: {} } } }, { a: entry(name, 1) }).slice(0, 22),
      'arguments.a must be {}',
    );
    assert.equal(check({ properties: { a: { uniqueItems: true } } }, { a: [entry(name, 1), {}] }), 'ok');
    assert.equal(
      check({ $ref: `#/$defs/${encodeURIComponent(name)}`, $defs: entry(name, { required: ['q'] }) }, {}),
      'arguments must have required property "q"',
    );
    const nine = Array.from({ length: 9 }, (_, at) => [`p${at}`, true] as const);
    assert.equal(
      check({ properties: Object.fromEntries(nine), additionalProperties: false }, entry(name, 1)).slice(0, 25),
      'arguments has no property',
    );
  }
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('text of a schema never becomes code', () => {
  const ran = () => (globalThis as { ran?: boolean }).ran === true;
  const attacks = [
    '"];globalThis.ran=true;//',
    "'];globalThis.ran=true;//",
    '`${globalThis.ran=true}`',
    '${globalThis.ran=true}',
    '*/globalThis.ran=true;/*',
    '\\"];globalThis.ran=true;//',
    '\u2028globalThis.ran=true;//',
    '\n;globalThis.ran=true;//',
    ']});globalThis.ran=true;({a:[',
    '\\u0022];globalThis.ran=true;//',
  ];
  for (const text of attacks) {
    const pattern = text.replace(/[\\[\](){}*+?.|^$]/g, '\\$&');
    const schemas: unknown[] = [
      { properties: entry(text, { type: 'number' }), required: [text], additionalProperties: false },
      { patternProperties: entry(pattern, { type: 'number' }) },
      { properties: { a: { pattern, const: text, enum: [text], format: text, type: 'string' } } },
      { $id: text, $schema: text, $anchor: text, $comment: text, title: text, $dynamicAnchor: text },
      { $ref: '#/$defs/a', $defs: { a: { $id: text } } },
      { $defs: entry(text, { type: 'object' }), anyOf: [{ $ref: `#/$defs/${encodeURIComponent(text)}` }] },
      { dependentSchemas: entry(text, { required: [text] }), dependentRequired: entry(text, [text]) },
      entry(text, { [text]: 1 }),
      { properties: { a: { $data: `1/${text}`, minimum: { $data: text } } } },
      { discriminator: { propertyName: text }, oneOf: [{ properties: entry(text, { const: text }) }] },
    ];
    for (const schema of schemas) {
      const compiled = compile(schema);
      if (!compiled.ok) continue;
      for (const args of [entry(text, 'x'), { a: text }, {}, entry(text, text)]) {
        checkArguments(compiled.schema, packr.pack(args));
      }
    }
  }
  assert.equal(ran(), false);
});

test('patterns that explode elsewhere take linear time, or are refused', () => {
  const schema = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
  assert.match(
    check(schema, { a: `${'a'.repeat(100_000)}b` }),
    /^arguments\.a must match the pattern "\^\(a\+\)\+\$", got "a/,
  );
  const repeated = { patternProperties: { '^(([a-z])+.)+[A-Z]([a-z])+$': { type: 'number' } } };
  assert.equal(check(repeated, { ['a'.repeat(10_000)]: 'x' }), 'ok');
  for (const pattern of ['(a{1000}){1000}', '((a{30}){30}){30}', 'a{100000}', '((((a?){50}){50}){50}){50}']) {
    const compiled = compile({ pattern });
    assert.equal(compiled.ok, false);
    assert.match(
      compiled.ok ? '' : compiled.message,
      /^schema\.pattern must be a regular expression, got invalid repeat/,
    );
  }
  assert.equal(compile({ pattern: `${'('.repeat(990)}a${')'.repeat(990)}` }).ok, true);
});

test('alternatives that double by level end in a message, with memory bounded', () => {
  const schema = {
    $ref: '#/$defs/n',
    $defs: {
      n: {
        type: 'object',
        anyOf: [{ properties: { x: { $ref: '#/$defs/n' } } }, { properties: { x: { $ref: '#/$defs/n' } } }],
      },
    },
  };
  let args: unknown = 5;
  for (let level = 0; level < 60; level++) args = { x: args };
  const before = process.memoryUsage().rss;
  assert.equal(
    check(schema, args),
    'arguments must be checked in 5000000 steps, got a value for which the schema needs more',
  );
  let few: unknown = 5;
  for (let level = 0; level < 15; level++) few = { x: few };
  assert.equal(check(schema, few), `arguments${'.x'.repeat(15)} must be object, got number 5`);
  assert.ok(process.memoryUsage().rss - before < 256 * 1024 * 1024);
});

test('a long array in vain keeps few errors', () => {
  const items = Array.from({ length: 300_000 }, (_, at) => at);
  const before = process.memoryUsage().rss;
  assert.equal(
    check({ properties: { a: { contains: { anyOf: [{ type: 'string' }, { type: 'null' }] } } } }, { a: items }),
    'arguments.a must have at least 1 of the items that the schema asks for',
  );
  assert.equal(check({ properties: { a: { uniqueItems: true } } }, { a: items }), 'ok');
  assert.ok(process.memoryUsage().rss - before < 512 * 1024 * 1024);
});

test('a chain of references as long as a schema may have is compiled or refused, never a crash', () => {
  const chain = (length: number) => {
    const $defs: Record<string, unknown> = { [`d${length}`]: { type: 'string' } };
    for (let link = 0; link < length; link++) $defs[`d${link}`] = { $ref: `#/$defs/d${link + 1}` };
    return { properties: { a: { $ref: '#/$defs/d0' } }, $defs };
  };
  assert.equal(check(chain(100), { a: 1 }), 'arguments.a must be string, got number 1');
  const long = compile(chain(990));
  if (!long.ok) {
    assert.equal(long.message, 'schema must have shorter chains of references, got one that exhausts the stack');
  }
});

test('equal identifiers of two schemas do not meet', () => {
  const first = compile({
    $id: 'http://same/',
    properties: { a: { $ref: '#x' } },
    $defs: { x: { $anchor: 'x', type: 'string' } },
  });
  const second = compile({
    $id: 'http://same/',
    properties: { a: { $ref: '#x' } },
    $defs: { x: { $anchor: 'x', type: 'number' } },
  });
  const third = compile({ $ref: 'http://same/' });
  assert.ok(first.ok && second.ok);
  assert.deepEqual(checkArguments(first.schema, packr.pack({ a: 's' })), { ok: true, emptyArrays: [] });
  assert.deepEqual(checkArguments(second.schema, packr.pack({ a: 1 })), { ok: true, emptyArrays: [] });
  assert.equal(third.ok, false);
});

test('random bytes are read or refused, never a crash', () => {
  let state = 12_345;
  const random = () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) >> 8;
  const open = compile({});
  assert.ok(open.ok);
  for (let round = 0; round < 20_000; round++) {
    const bytes = Uint8Array.from({ length: 1 + random() % 24 }, () => random() & 0xff);
    compileSchema(bytes);
    bytes[0] = 0x80 | (random() & 0x0f);
    checkArguments(open.schema, bytes);
  }
});
