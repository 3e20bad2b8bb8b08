// What the daemon is set to: one frozen value, made of the defaults and what is given beside them.
// Keys are those of the configuration files in the code's spelling; units stand in the names.

import { homedir } from 'node:os';
import path from 'node:path';
import {
  type AdmissionLimits,
  defaultLimits,
  defaultMostComputeMs,
  type LanguageName,
  type Limits,
} from '../protocol/limits.ts';
import { defaultWireBounds, type WireBounds } from '../protocol/outline.ts';

export type Config = {
  readonly shutdownGraceMs: number;
  readonly cancelGraceMs: number;
  readonly protocol: WireBounds & { readonly maxUnanswered: number };
  readonly tools: { readonly timeoutMs: number };
  readonly workspace: {
    /** Whether the built-in tools are in every catalogue. */
    readonly tools: boolean;
    /** Absolute folders: a cwd must lie below one of them. */
    readonly roots: readonly string[];
  };
  readonly limits: Readonly<Record<LanguageName, Limits>> & { readonly mostComputeMs: number };
  readonly admission: AdmissionLimits;
  readonly pool: { readonly warm: number; readonly runtime: 'auto' | 'node' | 'deno' };
};

export function defaultConfig(): Config {
  return {
    shutdownGraceMs: 5000,
    cancelGraceMs: 400,
    protocol: { ...defaultWireBounds, maxUnanswered: 4096 },
    tools: { timeoutMs: 600_000 },
    workspace: { tools: false, roots: [homedir()] },
    limits: { lua: defaultLimits('lua'), javascript: defaultLimits('javascript'), mostComputeMs: defaultMostComputeMs },
    admission: { maxRunning: 64, maxRunningPerAgent: 16, maxQueued: 1024, maxQueuedPerAgent: 512 },
    pool: { warm: 2, runtime: 'auto' },
  };
}

/** The defaults, each group with what is given in its place; frozen. */
export function makeConfig(given: { readonly [Key in keyof Config]?: Partial<Config[Key]> } = {}): Config {
  const defaults = defaultConfig();
  const groups = Object.entries(defaults).map(([key, value]) => {
    const own = given[key as keyof Config];
    const merged = typeof value === 'object' ? Object.freeze({ ...value, ...own as object }) : own ?? value;
    return [key, merged];
  });
  const config = Object.fromEntries(groups) as Config;
  return Object.freeze({
    ...config,
    workspace: { ...config.workspace, roots: config.workspace.roots.map((root) => path.resolve(root)) },
  });
}
