// A reporter of Node's test runner that tells failures, skips and the closing counts, and nothing of what passed.

type Event = { readonly type: string; readonly data: any };

export default async function* summary(source: AsyncIterable<Event>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if (type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
      const error = data.details?.error;
      yield `\nnot ok: ${data.name} (${data.file})\n${error?.cause?.stack ?? error?.stack ?? error}\n`;
    } else if (type === 'test:pass' && (data.skip !== undefined || data.todo !== undefined)) {
      yield `\nskipped: ${data.name} (${data.file})\n`;
    } else if (
      type === 'test:diagnostic' && /^(tests|pass|fail|cancelled|skipped|todo|duration_ms) /.test(data.message)
    ) {
      yield `ℹ ${data.message}\n`;
    }
  }
}
