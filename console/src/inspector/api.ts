/**
 * What the inspector asks of a server. The screen that composes the editor gives an object of this type; it adds the graph
 * as it is on the screen, the definitions and the sample data.
 */

import type { Problem } from '../graph/model';

export interface InspectorApi {
  /** Evaluates expressions of a node in the sandbox; rejects with an `AbortError` when the signal asks for it. */
  preview: (request: PreviewRequest, signal: AbortSignal) => Promise<PreviewAnswer>;
  /** Connections of the workspace. */
  connections: () => Promise<readonly ConnectionChoice[]>;
  /** Names of the secrets in the environment of test runs. */
  secrets: () => Promise<readonly string[]>;
  /** Patterns of the workspace whose name contains the text. */
  patterns: (search: string) => Promise<readonly PatternChoice[]>;
  /** When a schedule comes next, or what is wrong with it. */
  schedule: (cron: string, timezone: string, signal: AbortSignal) => Promise<NextTimes>;
  /** Names and methods that expressions have; null where the server does not say. */
  vocabulary: () => Promise<Vocabulary | null>;
}

export interface PreviewRequest {
  /** The graph in which the node is: null for the pattern's own, else the name of a composite. */
  definition: string | null;
  nodeId: string;
  /** Texts with `{{ }}` by parameter path, such as `cases[0].when`. */
  expressions: Readonly<Record<string, string>>;
}

/** What became of the expressions, by parameter path. */
export type PreviewAnswer = Readonly<Record<string, Preview>>;

export type Preview =
  | { ok: true; value: unknown; /** The value is an excerpt; its size in bytes. */ truncatedBytes?: number }
  | { ok: false; message: string; help?: string; span?: Span };

/** A range in UTF-16 units of the parameter's text. */
export interface Span {
  start: number;
  end: number;
}

/** A finding of the validator, as `POST /api/execute/validate` gives it. */
export interface Diagnostic extends Problem {
  readonly span?: Span | null;
}

/** How an expression is evaluated, and why not faster; from the same answer. */
export interface Evaluated {
  readonly definition?: string | null;
  readonly nodeId?: string | null;
  /** Parameter path. */
  readonly parameter: string;
  readonly span?: Span;
  readonly evaluation: 'compiled' | 'engine';
  readonly reasons: readonly { readonly what: string; readonly span?: Span }[];
}

export interface ConnectionChoice {
  id: string;
  /** What people call it, and what a parameter names it by. */
  name: string;
  provider: string;
  /** What it leads to, where that is known: `http`, `sql`, `smtp`, `mailbox`, `chat`. */
  kind?: string;
}

/** The next times of a schedule, ISO 8601 in UTC; none with a problem. */
export interface NextTimes {
  times: readonly string[];
  problem?: { field: string; message: string; span?: Span };
}

export interface PatternChoice {
  id: string;
  name: string;
  /** Whether it is deployed, so that it can be called. */
  deployed?: boolean;
}

/** What can be written in expressions, as `GET /api/expressions` gives it. */
export interface Vocabulary {
  readonly names: readonly VocabularyName[];
  /** `parseInt`, `Math.max`. */
  readonly functions: readonly Callable[];
  /** Methods and properties by the type of the value; `any` is for all. */
  readonly types: readonly {
    readonly type: string;
    readonly methods: readonly Callable[];
    readonly properties: readonly { readonly name: string; readonly about: string }[];
  }[];
}

export interface VocabularyName {
  readonly name: string;
  readonly about: string;
  readonly scope: 'always' | 'item' | 'pair' | 'error';
  readonly inDefinitions: boolean;
}

export interface Callable {
  readonly name: string;
  /** Those with `?` may be left out; `...` stands before one that may be repeated. */
  readonly arguments: readonly string[];
  readonly about: string;
}
