/** Previews of a node's expressions: one question for all of them, a moment after the last change, the newest only. */

import type { InspectorApi, PreviewAnswer, PreviewRequest } from './api';
import { pathText, type Path } from './fields';
import { hasExpression, isObject } from './values';

/** Milliseconds of rest before a question is asked. */
export const PREVIEW_DELAY_MS = 80;
/** The server takes so many at a time; of more, the first ones have previews. */
const EXPRESSIONS_MAX = 50;

export interface PreviewState {
  /** By parameter path; from the last answer. */
  answers: PreviewAnswer;
  /** The texts that the answers are about. */
  asked: Readonly<Record<string, string>>;
  busy: boolean;
  /** Why there is no answer at all. */
  failure: string | undefined;
}

export const NO_PREVIEWS: PreviewState = { answers: {}, asked: {}, busy: false, failure: undefined };

/** The texts with expressions in a node's parameters, by path. */
export function expressionsIn(parameters: unknown): Record<string, string> {
  const found: Record<string, string> = {};
  let count = 0;
  const visit = (value: unknown, path: Path): void => {
    if (count >= EXPRESSIONS_MAX) return;
    if (hasExpression(value)) {
      found[pathText(path)] = value;
      count += 1;
    } else if (Array.isArray(value)) value.forEach((inner, index) => visit(inner, [...path, index]));
    else if (isObject(value))
      for (const [name, inner] of Object.entries(value)) visit(inner, [...path, name]);
  };
  visit(parameters, []);
  return found;
}

/** A failure's message without the expression and its parameter, beside which it is shown; and what is said of values. */
export function inShort(message: string): { text: string; about: string | undefined } {
  const [, text, about] = /^(.+?) in `[^]*` \(parameter `[^`]*`(?:; (.+))?\)$/.exec(message) ?? [];
  return { text: text ?? message, about };
}

/** Asks for previews; `changed` is called with every new state. */
export class Previews {
  private state: PreviewState = NO_PREVIEWS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: AbortController | undefined;

  constructor(
    private readonly api: Pick<InspectorApi, 'preview'>,
    private readonly changed: (state: PreviewState) => void,
    private readonly delayMs = PREVIEW_DELAY_MS,
  ) {}

  /** Asks after a moment; a later question replaces this one. */
  ask(request: PreviewRequest): void {
    this.cancel();
    if (Object.keys(request.expressions).length === 0) {
      this.set(NO_PREVIEWS);
      return;
    }
    this.set({ ...this.state, busy: true });
    this.timer = setTimeout(() => void this.send(request), this.delayMs);
  }

  /** Forgets all answers, as another node's expressions come next. */
  forget(): void {
    this.cancel();
    this.set(NO_PREVIEWS);
  }

  cancel(): void {
    clearTimeout(this.timer);
    this.running?.abort();
    this.running = undefined;
  }

  private async send(request: PreviewRequest): Promise<void> {
    const controller = new AbortController();
    this.running = controller;
    try {
      const answers = await this.api.preview(request, controller.signal);
      if (this.running === controller) {
        this.set({ answers, asked: request.expressions, busy: false, failure: undefined });
      }
    } catch (error) {
      if (this.running !== controller) return;
      const failure = error instanceof Error ? error.message : String(error);
      this.set({ answers: {}, asked: {}, busy: false, failure });
    }
  }

  private set(state: PreviewState): void {
    this.state = state;
    this.changed(state);
  }
}
