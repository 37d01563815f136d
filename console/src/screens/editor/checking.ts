/** When the validator is asked about a document that is being changed. */

/** Changes that follow each other within this are asked about together. */
export const REST_MS = 60;
/** Where answers take longer than that, changes have to rest for as long as an answer takes, but not for longer than this. */
export const REST_MAX_MS = 250;

export class Checking {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: AbortController | undefined;
  private changedAt = -Infinity;
  private tookMs = 0;

  /** `ask` never rejects; once its signal is aborted, nobody wants its answer. */
  constructor(private readonly ask: (signal: AbortSignal) => Promise<void>) {}

  /** A single change is asked about at once, and several in a row once they rest. What was asked about before is overtaken. */
  changed(): void {
    const now = performance.now();
    const restMs = Math.min(Math.max(this.tookMs, REST_MS), REST_MAX_MS);
    // What still waits to be asked about, or was asked about and is not answered, is a row that this change continues.
    const isAlone = this.timer === undefined && !this.running;
    const isSingle = isAlone && now - this.changedAt >= restMs;
    this.changedAt = now;
    this.stop();
    // In a task of its own, so that the change is drawn first.
    this.timer = setTimeout(() => void this.start(), isSingle ? 0 : restMs);
  }

  /** Asks now. */
  async start(): Promise<void> {
    this.stop();
    const controller = new AbortController();
    this.running = controller;
    const began = performance.now();
    await this.ask(controller.signal);
    if (this.running !== controller) return;
    this.running = undefined;
    this.tookMs = performance.now() - began;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.running?.abort();
    this.running = undefined;
  }
}
