/** Who else has the pattern open, and whether somebody has saved a newer version than the one on the screen. */

import { leavePresence, type OpenEditor, tellPresence } from '$/api/editor';
import { randomUuid } from '$/graph/uuid';
import type { Work } from './work.svelte';

/** Until the server says how often, and after a mistake. */
const TELL_EVERY_MS = 15_000;

export class Presence {
  others = $state.raw<readonly OpenEditor[]>([]);
  /** The newest version, and who saved it; the user, if nobody is named. */
  newest = $state.raw<{ version: number; by?: string | undefined }>({ version: 0 });
  private readonly tab = randomUuid();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isOpen = true;

  constructor(private readonly work: Work) {
    if (!work.readOnly) void this.tell();
  }

  private async tell(): Promise<void> {
    let waitMs = TELL_EVERY_MS;
    try {
      const around = await tellPresence(this.work.pattern, this.tab, this.work.isChanged);
      this.others = around.others;
      // A save of the user's own, in another tab, took the draft with it.
      const isNewer = around.versionNumber > Math.max(this.newest.version, this.work.version);
      if (isNewer) this.work.draftIsGone();
      // Until it is on the server (again).
      if (this.work.isChanged && this.work.kept.at !== 'draft') void this.work.keepDraft();
      this.newest = { version: around.versionNumber, by: around.savedBy ?? undefined };
      waitMs = around.tellEveryMs;
    } catch {
      // Nobody is known of while the server can't be asked; saving says what is wrong.
      this.others = [];
    }
    if (this.isOpen) this.timer = setTimeout(() => void this.tell(), waitMs);
  }

  /** The page is closed or left. */
  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    clearTimeout(this.timer);
    if (!this.work.readOnly) void leavePresence(this.work.pattern, this.tab).catch(() => {});
  }
}

/** People by name, the user's own other tabs as such; each once. */
export function namesOf(others: readonly OpenEditor[]): string[] {
  return [...new Set(others.map(({ name, isOwn }) => (isOwn ? 'you, in another tab' : name)))];
}

/** For the title bar: "Bob Ray is here too", with what it means. */
export function aroundText(others: readonly OpenEditor[]): { text: string; help: string } | undefined {
  const names = namesOf(others);
  if (names.length === 0) return undefined;
  const list = new Intl.ListFormat('en').format(names);
  const changing = namesOf(others.filter(({ hasChanges }) => hasChanges));
  const [only] = names;
  const text =
    names.length === 1 && only
      ? others.some((it) => !it.isOwn)
        ? `${only} too`
        : 'Another tab'
      : `${names.length} others`;
  const open = `Also open: ${list}.`;
  const unsaved =
    changing.length > 0
      ? ` There are changes that are not saved: ${new Intl.ListFormat('en').format(changing)}.`
      : '';
  return { text, help: `${open}${unsaved} Whoever saves second gets both versions merged.` };
}
