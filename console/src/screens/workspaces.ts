/** The workspace that this browser was in last. */

const KEY = 'heddle.workspace';

export function remember(id: string): void {
  try {
    localStorage.setItem(KEY, id);
  } catch {
    // Without storage, one begins in the first workspace.
  }
}

/** The last one, if the user is still a member of it. */
export function remembered(workspaces: readonly { id: string }[]): string | undefined {
  try {
    const id = localStorage.getItem(KEY);
    return workspaces.find((workspace) => workspace.id === id)?.id;
  } catch {
    return undefined;
  }
}
