/** A form that is sent: whether it is under way, and what was wrong with it. */
export class Submission {
  isBusy = $state(false);
  message = $state('');
  /** The errors of fields, by their path. */
  fields = $state.raw<Readonly<Record<string, string>>>({});

  clear(): void {
    this.message = '';
    this.fields = {};
  }

  /** Sends it, and keeps what `send` throws to show it. True if nothing was wrong. */
  async submit(event: SubmitEvent, send: () => Promise<unknown>): Promise<boolean> {
    event.preventDefault();
    this.isBusy = true;
    this.clear();
    try {
      await send();
      return true;
    } catch (error) {
      this.message = error instanceof Error ? error.message : String(error);
      this.fields = (error as { fields?: Record<string, string> }).fields ?? {};
      return false;
    } finally {
      this.isBusy = false;
    }
  }
}
