/** Short messages at the bottom of the window. What can be undone says so with a button. */

export interface Toast {
  id: number;
  kind: 'ok' | 'bad' | 'info';
  text: string;
  action?: { label: string; run: () => void };
  /** Until it is closed: an error, or what stays true. */
  stays: boolean;
}

const SHOWN_MS = 5000;
const AT_ONCE = 3;
let last = 0;

class Toasts {
  items = $state.raw<readonly Toast[]>([]);
  #timers = new Map<number, ReturnType<typeof setTimeout>>();
  #isHeld = false;

  /** Shows a message. Errors stay until they are closed. */
  show(kind: Toast['kind'], text: string, action?: Toast['action'], stays = kind === 'bad'): void {
    const toast: Toast = { id: ++last, kind, text, stays, ...(action && { action }) };
    this.items = [...this.items.filter((other) => other.text !== text), toast].slice(-AT_ONCE);
    this.#leaveLater(toast);
  }

  close(id: number): void {
    this.items = this.items.filter((toast) => toast.id !== id);
    if (this.items.length === 0) this.#isHeld = false;
  }

  /** While somebody points at messages or is in one of them by keyboard, none of them leaves. */
  hold(): void {
    this.#isHeld = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  /** From now on they are shown for as long as if they were new. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const toast of this.items) this.#leaveLater(toast);
  }

  #leaveLater({ id, stays, action }: Toast): void {
    if (stays || this.#isHeld) return;
    const leave = () => {
      this.#timers.delete(id);
      this.close(id);
    };
    this.#timers.set(id, setTimeout(leave, action ? 2 * SHOWN_MS : SHOWN_MS));
  }
}

export const toasts = new Toasts();

export const toast = {
  ok: (text: string, action?: Toast['action']) => toasts.show('ok', text, action),
  info: (text: string, action?: Toast['action']) => toasts.show('info', text, action),
  /** What stays true until something is done about it. */
  stays: (text: string, action: Toast['action']) => toasts.show('info', text, action, true),
  /** An error, from whatever was thrown. */
  bad: (error: unknown) => toasts.show('bad', error instanceof Error ? error.message : String(error)),
};
