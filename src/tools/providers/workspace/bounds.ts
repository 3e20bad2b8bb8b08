// What the workspace tools may use, whatever a program asks for: one table, with units.
// Callers, arguments and file trees are hostile, so every loop over them ends by one of these rows.
// A bound that fires makes an answer incomplete and says so there; it never fails a call.

/** Units are in the names: Ms milliseconds, Bytes bytes, Chars UTF-16 units of a string; all others count things. */
export const workspaceBounds = {
  /** Longest time that all calls together keep the event loop before they give it back. */
  sliceMs: 4,
  /** Calls under way at once below one root; more wait in line. */
  callsPerRoot: 8,
  pathBytes: 4096,
  /** Entries of folders looked at by one call. */
  entries: 200_000,
  /** Folders within folders below the one asked for. */
  depth: 64,
  /** Files opened ahead of the one being searched: hides the latency of the disk. */
  filesAhead: 4,
  readChunkBytes: 256 * 1024,
  /** How far read_file looks for the beginning of `start_line`. */
  seekBytes: 256 * 1024 * 1024,
  /** Searched of one file, and by one call. */
  searchedFileBytes: 64 * 1024 * 1024,
  searchedBytes: 512 * 1024 * 1024,
  /** A NUL in this much of a file's beginning makes it binary. */
  binaryProbeBytes: 8192,
  /** A longer line is searched only so far. */
  lineBytes: 1024 * 1024,
  /** The same for what is no plain word; less where the pattern is large (see patternWork). */
  patternLineChars: 4096,
  /** The same for a word whose case is ignored, which costs 5 ns a character, if it is no longer than foldedWordChars. */
  foldedLineChars: 65_536,
  foldedWordChars: 200,
  /** Instructions of a compiled pattern times characters of a line: about 5 ms at the worst cost measured (75 ns). */
  patternWork: 60_000,
  patternChars: 500,
  patternInstructions: 500,
  /** Characters of one line shown in an answer. */
  shownLineChars: 1000,
  contextLines: 20,
  /** Paths and patterns quoted in a message. */
  quotedChars: 200,
  /** Kept free of `maxBytes` for the keys and flags round the content. */
  envelopeBytes: 512,
} as const;
