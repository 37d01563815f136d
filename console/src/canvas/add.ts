/** Adds what was picked in the palette: a node of a type, or a new type with a node of it. */
import type { NewNode } from '../graph/actions';
import type { Session } from '../graph/session';
import { newKind } from './palette';

/** With what else is in a pattern, and in base64, within what the server takes of one. */
const COMPONENT_MAX = 5 << 20;

export function addTo(session: Session, wanted: NewNode): void {
  const kind = newKind(wanted.type);
  if (kind === undefined) session.add(wanted);
  else if (kind === 'component') chooseComponent(session, wanted);
  else session.addOwn(kind, wanted);
}

function chooseComponent(session: Session, wanted: NewNode): void {
  void componentFile((text) => session.refuse(text)).then((chosen) => {
    if (chosen) session.addOwn('component', wanted, chosen.content, chosen.name);
    session.ask({ kind: 'focus' });
  });
}

/** A component that the user chooses, in base64, and a type's name for it. None if they choose none, or it is none. */
export async function componentFile(
  refuse: (text: string) => void,
): Promise<{ content: string; name: string } | undefined> {
  const file = await chosenFile('.wasm,application/wasm');
  if (!file) return undefined;
  if (file.size > COMPONENT_MAX) {
    refuse(`“${file.name}” is too large: a component has at most ${COMPONENT_MAX >> 20} MB.`);
    return undefined;
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  // The binary format begins with these, in a component too.
  if (bytes.length < 8 || String.fromCharCode(...bytes.subarray(0, 4)) !== '\0asm') {
    refuse(`“${file.name}” is not a WebAssembly file.`);
    return undefined;
  }
  return { content: base64(bytes), name: typeName(file.name) };
}

/** A file that the user chooses; undefined if they choose none. */
export function chosenFile(accept: string): Promise<File | undefined> {
  const input = document.createElement('input');
  Object.assign(input, { type: 'file', accept });
  return new Promise((resolve) => {
    input.addEventListener('change', () => resolve(input.files?.[0]));
    input.addEventListener('cancel', () => resolve(undefined));
    input.click();
  });
}

function base64(bytes: Uint8Array): string {
  const parts: string[] = [];
  // Arguments of a call are bounded.
  for (let at = 0; at < bytes.length; at += 8_192)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 8_192)));
  return btoa(parts.join(''));
}

/** "check-iban.wasm" → "CheckIban". */
const typeName = (file: string): string =>
  file
    .replace(/\.wasm$/i, '')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
