/** Short messages at the bottom of the window. What can be undone says so with a button. */

export interface Toast {
  id: number;
  kind: 'ok' | 'bad' | 'info';
  text: string;
  action?: { label: string; run: () => void };
}

const SHOWN_MS = 5000;
const AT_ONCE = 3;
let last = 0;

class Toasts {
  items = $state.raw<readonly Toast[]>([]);

  /** Shows a message; errors stay until they are closed. */
  show(kind: Toast['kind'], text: string, action?: Toast['action']): void {
    const toast: Toast = { id: ++last, kind, text, ...(action && { action }) };
    this.items = [...this.items.filter((other) => other.text !== text), toast].slice(-AT_ONCE);
    if (kind !== 'bad') setTimeout(() => this.close(toast.id), action ? 2 * SHOWN_MS : SHOWN_MS);
  }

  close(id: number): void {
    this.items = this.items.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();

export const toast = {
  ok: (text: string, action?: Toast['action']) => toasts.show('ok', text, action),
  info: (text: string, action?: Toast['action']) => toasts.show('info', text, action),
  /** An error, from whatever was thrown. */
  bad: (error: unknown) => toasts.show('bad', error instanceof Error ? error.message : String(error)),
};
