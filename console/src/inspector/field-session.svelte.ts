/** What the fields of one node share: the values, what is said of them, and how they are changed. */

import { createContext } from 'svelte';
import type { Diagnostic, Evaluated, InspectorApi, Preview, Vocabulary } from './api';
import { pathText, type Path } from './fields';
import { exactly, routeOf, within } from './findings';
import type { InsertTargets } from './insert-targets.svelte';
import { NO_PREVIEWS, type PreviewState } from './preview';
import { NO_SURROUNDINGS, type Surroundings } from './sample';

export interface FieldChange {
  path: Path;
  /** Without one, the parameter is removed. */
  value: unknown;
  /** Changes of the same group are one step in the history. */
  group: string | undefined;
}

let groups = 0;

/** A name for the changes between focus and blur of one field. */
export function nextGroup(): string {
  groups += 1;
  return `field-${groups}`;
}

export class FieldSession {
  parameters = $state.raw<Readonly<Record<string, unknown>>>({});
  readOnly = $state(false);
  diagnostics = $state.raw<readonly Diagnostic[]>([]);
  evaluated = $state.raw<readonly Evaluated[]>([]);
  previews = $state.raw<PreviewState>(NO_PREVIEWS);
  surroundings = $state.raw<Surroundings>(NO_SURROUNDINGS);
  vocabulary = $state.raw<Vocabulary | null>(null);
  /** Path of the parameter that is to be focused, from the problems list. */
  wanted = $state<string>();

  constructor(
    readonly api: InspectorApi,
    readonly targets: InsertTargets,
    private readonly changed: (change: FieldChange) => void,
  ) {}

  /** Sets a value; `undefined` removes it. */
  edit(path: Path, value: unknown, group?: string): void {
    if (!this.readOnly) this.changed({ path, value, group });
  }

  /** Findings about the value itself. */
  findings(path: Path): readonly Diagnostic[] {
    return exactly(this.diagnostics, pathText(path));
  }

  /** Findings about the value or something inside of it. */
  findingsWithin(path: Path): readonly Diagnostic[] {
    return within(this.diagnostics, pathText(path));
  }

  route(path: Path): ReturnType<typeof routeOf> {
    return routeOf(this.evaluated, pathText(path));
  }

  /** The preview of a text, with whether it is of the text as it is now. */
  preview(path: Path, text: string): { preview: Preview; isFresh: boolean } | undefined {
    const name = pathText(path);
    const preview = this.previews.answers[name];
    return preview && { preview, isFresh: this.previews.asked[name] === text };
  }
}

export const [fieldSession, setFieldSession] = createContext<FieldSession>();
