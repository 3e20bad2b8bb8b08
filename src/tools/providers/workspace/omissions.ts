// Why an answer is incomplete: counts by reason while a call works, sentences at its end.
// An answer is complete exactly when nothing was counted and no page follows.

import { workspaceBounds } from './bounds.ts';

/** One row for each reason, with its sentence for a count. */
const sentences = {
  entries: () => `the scan stopped after ${workspaceBounds.entries} entries`,
  deep: (count: number) => `${folders(count)} deeper than ${workspaceBounds.depth} left out`,
  unreadableFolders: (count: number) => `${folders(count)} could not be read`,
  unreadableFiles: (count: number) => `${files(count)} could not be read`,
  names: (count: number) => `${count === 1 ? '1 name that is' : `${count} names that are`} not valid UTF-8 left out`,
  costlyPaths: (count: number) => `${count === 1 ? '1 path' : `${count} paths`} too long for the pattern left out`,
  bigFiles: (count: number) => `${files(count)} searched only in the first ${workspaceBounds.searchedFileBytes} bytes`,
  bytes: () => `the search stopped after ${workspaceBounds.searchedBytes} bytes`,
  longLines: (count: number) => `${count === 1 ? '1 line' : `${count} lines`} searched only at the beginning`,
  cutLines: (count: number) =>
    `the text of ${count === 1 ? '1 line' : `${count} lines`} cut to ${workspaceBounds.shownLineChars} characters`,
  context: (count: number) => `${count === 1 ? '1 line' : `${count} lines`} of context left out for lack of room`,
  large: (count: number) => `${count === 1 ? '1 entry' : `${count} entries`} larger than the largest result left out`,
} as const satisfies Record<string, (count: number) => string>;

export type Omission = keyof typeof sentences;
export type Omissions = Map<Omission, number>;

export function omit(omissions: Omissions, reason: Omission): void {
  omissions.set(reason, (omissions.get(reason) ?? 0) + 1);
}

/** The sentences of all that was counted, in the order of the table. */
export function omissionSentences(omissions: Omissions): string[] {
  return (Object.keys(sentences) as Omission[]).flatMap((reason) => {
    const count = omissions.get(reason);
    return count === undefined ? [] : [sentences[reason](count)];
  });
}

function folders(count: number): string {
  return count === 1 ? '1 folder' : `${count} folders`;
}

function files(count: number): string {
  return count === 1 ? '1 file' : `${count} files`;
}
