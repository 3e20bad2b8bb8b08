// Catalogues: made whole or refused, never changed, names resolved in one place.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCatalogue, resolveTool } from '../../../src/tools/catalogue.ts';
import { forbiddenNames } from '../../../src/tools/names.ts';
import { fakeTool } from '../../helpers/call_parts.ts';

test('a catalogue has its tools in the order of declaration, and their aliases beside them', () => {
  const catalogue = makeCatalogue([fakeTool('b', { aliases: ['x', 'y'] }), fakeTool('a')]);
  assert.deepEqual([...catalogue.tools.keys()], ['b', 'a']);
  assert.deepEqual([...catalogue.aliases], [['x', 'b'], ['y', 'b']]);
  assert.ok(Object.isFrozen(catalogue));
});

test('a name that is declared twice is refused', () => {
  assert.throws(
    () => makeCatalogue([fakeTool('a'), fakeTool('b'), fakeTool('a')]),
    new Error('tool "a" is declared twice; names must differ'),
  );
});

test('an alias that is taken is refused, whichever comes first', () => {
  const taken = (alias: string, tool: string, other: string) =>
    new Error(`alias "${alias}" of tool "${tool}" is taken by "${other}"`);
  assert.throws(() => makeCatalogue([fakeTool('a', { aliases: ['b'] }), fakeTool('b')]), taken('b', 'a', 'b'));
  assert.throws(() => makeCatalogue([fakeTool('b'), fakeTool('a', { aliases: ['b'] })]), taken('b', 'a', 'b'));
  assert.throws(
    () => makeCatalogue([fakeTool('a', { aliases: ['x'] }), fakeTool('b', { aliases: ['x'] })]),
    taken('x', 'b', 'a'),
  );
});

test('an alias that says the same twice, or the own name, is nothing to refuse', () => {
  const catalogue = makeCatalogue([fakeTool('a', { aliases: ['a', 'x', 'x'] })]);
  assert.deepEqual([...catalogue.aliases], [['x', 'a']]);
});

test("tools that programs may never call stay the agent's own", () => {
  const catalogue = makeCatalogue([...[...forbiddenNames].map((name) => fakeTool(name)), fakeTool('read')]);
  assert.deepEqual([...catalogue.tools.keys()], ['read']);
  for (const name of forbiddenNames) {
    assert.deepEqual(resolveTool(catalogue, name), {
      problem: `Cannot call tool "${name}": it is never callable from a program; call it directly`,
    });
  }
});

test('a tool is found by its name and by its aliases, exactly', () => {
  const tool = fakeTool('read_file', { aliases: ['cat'] });
  const catalogue = makeCatalogue([tool, fakeTool('constructor')]);
  assert.deepEqual(resolveTool(catalogue, 'read_file'), { tool });
  assert.deepEqual(resolveTool(catalogue, 'cat'), { tool });
  assert.ok('tool' in resolveTool(catalogue, 'constructor'));
  for (const name of ['Read_File', 'read-file', 'read_file ', '', 'toString', '__proto__', 'hasOwnProperty']) {
    assert.ok('problem' in resolveTool(catalogue, name), name);
  }
});

test('a name that is not known is told with what there is', () => {
  const catalogue = makeCatalogue([fakeTool('read_file', { aliases: ['cat_file'] })]);
  const problem = (name: string, of = catalogue) => (resolveTool(of, name) as { problem: string }).problem;
  assert.equal(problem('cat_fil'), 'Cannot call tool "cat_fil": there is no such tool; did you mean "cat_file"');
  assert.equal(
    problem('quit'),
    'Cannot call tool "quit": there is no such tool; wizard.tools() lists the tools there are',
  );
  assert.equal(
    problem('quit', makeCatalogue([])),
    'Cannot call tool "quit": there is no such tool; this agent offers no tools',
  );
  assert.equal(
    problem('x"\n'),
    'Cannot call tool "x\\"\\n": there is no such tool; wizard.tools() lists the tools there are',
  );
  assert.ok(problem('x'.repeat(100_000)).length < 400);
});
