// The command: picks the verb and says what is wrong in one line. Each verb has its own file.

import process from 'node:process';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { UsageError } from './usage.ts';
import { version } from '../daemon/daemon.ts';

type Verb = { readonly summary: string; readonly carryOut: (args: string[]) => Promise<number> };

const verbs: Readonly<Record<string, Verb>> = {
  serve: { summary: 'serve --socket PATH --state DIR    run the daemon', carryOut: serveCommand },
  run: { summary: 'run FILE [--cwd DIR]               run one program with the workspace tools', carryOut: runCommand },
};

const help = [
  'Runs the code-mode programs of AI agents, each in a process of its own.',
  '',
  'usage: runwarden VERB',
  '',
  ...Object.values(verbs).map(({ summary }) => `  ${summary}`),
  '',
  'runwarden VERB --help says more; --version tells the version.',
].join('\n');

async function main(args: string[]): Promise<number> {
  const [name = '--help', ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') return say(help);
  if (name === '--version') return say(version);
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (!verb) {
    throw new UsageError(`there is no verb ${JSON.stringify(name)}; the verbs are ${Object.keys(verbs).join(', ')}`);
  }
  return verb.carryOut(rest);
}

function say(text: string): number {
  process.stdout.write(text + '\n');
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { code } = error as NodeJS.ErrnoException;
  const usage = error instanceof UsageError || (code?.startsWith('ERR_PARSE_ARGS') ?? false);
  process.stderr.write(`runwarden: ${(error as Error).message}\n`);
  process.exitCode = usage ? 2 : 1;
}
