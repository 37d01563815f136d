/** What can be done in an editor, by name and key: for its keys and for the command menu. */
import { hasPins, pinEdit } from './pins';
import type { Session } from './session';

export interface Command {
  readonly id: string;
  readonly title: string;
  /** Keys as `KeyboardEvent` names them, `Mod` for ⌘ or Ctrl: "Mod+Shift+z". */
  readonly keys: readonly string[];
  readonly enabled: boolean;
  run(): void;
}

/** The commands as things stand; read-only editors have those that change nothing. */
export function commandsOf(session: Session, readOnly: boolean): Command[] {
  const { selection, focus, document } = session;
  const { nodes, edges, notes } = selection.value;
  const some = nodes.size + edges.size + notes.size > 0;
  const focused = focus.value?.kind === 'node' ? focus.value.id : [...nodes].at(-1);
  const given = session.given?.() ?? [];
  const [undo, redo] = [document.history.value.past.at(-1)?.title, document.history.value.future[0]?.title];
  const edit = (id: string, title: string, keys: string[], run: () => void, enabled = true): Command[] =>
    readOnly ? [] : [{ id, title, keys, enabled, run }];
  const view = (id: string, title: string, keys: string[], run: () => void, enabled = true): Command[] => [
    { id, title, keys, enabled, run },
  ];
  return [
    ...edit('undo', undo ? `Undo: ${undo}` : 'Undo', ['Mod+z'], () => session.undo(), undo !== undefined),
    ...edit(
      'redo',
      redo ? `Redo: ${redo}` : 'Redo',
      ['Mod+Shift+z', 'Mod+y'],
      () => session.redo(),
      redo !== undefined,
    ),
    ...edit('add', 'Add a node', ['n', '/'], () => session.ask({ kind: 'palette' })),
    ...edit(
      'connect',
      'Connect to another node',
      ['c'],
      () => focused !== undefined && session.ask({ kind: 'connect', node: focused }),
      focused !== undefined,
    ),
    ...edit(
      'rename',
      'Rename',
      ['F2'],
      () => focused !== undefined && session.ask({ kind: 'rename', node: focused }),
      focused !== undefined,
    ),
    ...edit('delete', 'Delete', ['Delete', 'Backspace'], () => session.removeSelection(), some),
    ...edit(
      'duplicate',
      'Duplicate',
      ['Mod+d'],
      () => session.duplicateSelection(),
      nodes.size + notes.size > 0,
    ),
    ...edit('disable', 'Disable or enable', ['d'], () => session.toggleDisabled(), nodes.size > 0),
    ...edit(
      'pin',
      pinsSelection(session) ? 'Pin to what it gave' : 'Unpin',
      ['p'],
      () => session.togglePins(),
      pinsSelection(session) || hasPin(session),
    ),
    ...edit(
      'pin-all',
      'Pin all of this run',
      [],
      () => session.pinAll(),
      pinEdit(document.doc, given) !== undefined,
    ),
    ...edit('unpin-all', 'Remove all pins', [], () => session.unpinAll(), hasPins(document.doc)),
    ...edit(
      'composite',
      'Make a composite of the selection',
      ['Mod+g'],
      () => session.composeSelection(),
      nodes.size > 0,
    ),
    ...edit('note', 'Add a note', ['Shift+n'], () => session.addNote()),
    ...edit('tidy', nodes.size > 1 ? 'Tidy the selection' : 'Tidy', ['Shift+t'], () =>
      session.ask({ kind: 'tidy' }),
    ),
    ...view('select-all', 'Select all', ['Mod+a'], () => session.selectAll()),
    ...view('find', 'Find a node', ['Mod+f'], () => session.ask({ kind: 'find' })),
    ...view('fit', 'Show everything', ['1', 'Shift+1'], () => session.ask({ kind: 'fit' })),
    ...view('zoom-in', 'Zoom in', ['+', '='], () => session.ask({ kind: 'zoom', by: 1 })),
    ...view('zoom-out', 'Zoom out', ['-'], () => session.ask({ kind: 'zoom', by: -1 })),
    ...view('zoom-reset', 'Zoom to 100 %', ['0'], () => session.ask({ kind: 'zoom', by: 0 })),
    ...view(
      'leave',
      'Back to the graph around',
      ['Mod+ArrowUp'],
      () => session.leave(),
      session.level.value.prefix !== '',
    ),
  ];
}

/** Whether something that is selected can be pinned to what it gave in the run that is shown. */
export function pinsSelection(session: Session): boolean {
  if (session.selection.value.nodes.size === 0) return false;
  return pinEdit(session.document.doc, session.givenToSelection()) !== undefined;
}

export function hasPin(session: Session): boolean {
  return [...session.selection.value.nodes].some((id) => session.node(id)?.data?.pin !== undefined);
}

/** What `keysOf` reads of a keyboard event. */
export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

/** A press as commands name it. */
export function keysOf(press: KeyPress): string {
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  // What needs Shift to be typed, such as `+`, is named by itself.
  const shifted = press.shiftKey && (press.key.length > 1 || /[a-z0-9]/i.test(press.key));
  return `${press.ctrlKey || press.metaKey ? 'Mod+' : ''}${press.altKey ? 'Alt+' : ''}${shifted ? 'Shift+' : ''}${key}`;
}

export function commandFor(commands: readonly Command[], press: KeyPress): Command | undefined {
  const keys = keysOf(press);
  return commands.find((command) => command.enabled && command.keys.includes(keys));
}
