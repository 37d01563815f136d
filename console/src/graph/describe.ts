/** What an edit did, in words: for the menu of undo, the journal and the live region. */
import type { Edit } from './edit';
import { graphOf, indexOf, nodeName, type Doc } from './model';

/** "Move 3 nodes", "Rename Filter to Paid orders". `before` is the document that it is applied to. */
export function describeEdit(edit: Edit, before: Doc): string {
  const name = (id: string) => {
    const graph = 'definition' in edit ? graphOf(before, edit.definition) : before.graph;
    const node = indexOf(graph).nodes.get(id);
    return node ? nodeName(node) : id;
  };
  switch (edit.kind) {
    case 'batch':
    case 'replace':
      return edit.title;
    case 'add': {
      const [only] = edit.nodes ?? [];
      const named = edit.nodes?.length === 1 && only ? nodeName(only) : undefined;
      const what =
        named ?? counted(edit.nodes?.length ?? 0, edit.edges?.length ?? 0, edit.notes?.length ?? 0);
      if (!edit.verb && !edit.nodes?.length && edit.edges?.length === 1) return connected(edit.edges, name);
      return `${edit.verb ?? 'Add'} ${what}`;
    }
    case 'remove': {
      const [only] = edit.nodes ?? [];
      const what =
        edit.nodes?.length === 1 && only !== undefined
          ? name(only)
          : counted(edit.nodes?.length ?? 0, edit.edges?.length ?? 0, edit.notes?.length ?? 0);
      return `${edit.verb ?? 'Delete'} ${what}`;
    }
    case 'move': {
      const ids = Object.keys(edit.nodes ?? {});
      const notes = Object.keys(edit.notes ?? {}).length;
      const what =
        ids.length === 1 && notes === 0 && ids[0] !== undefined
          ? name(ids[0])
          : counted(ids.length, 0, notes);
      return `${edit.verb ?? 'Move'} ${what}`;
    }
    case 'parameter':
      return `Change ${edit.name} of ${name(edit.node)}`;
    case 'data':
      return changedData(
        edit,
        edit.nodes.length === 1 ? name(edit.nodes[0] ?? '') : counted(edit.nodes.length, 0, 0),
      );
    case 'rename':
      return edit.label
        ? `Rename ${name(edit.node)} to ${edit.label}`
        : `Remove the label of ${name(edit.node)}`;
    case 'note':
      return 'Change a note';
    case 'order':
      return `Reorder what enters ${name(edit.node)}`;
    case 'setting':
      return `Change the setting ${edit.field}`;
    case 'define': {
      const known = Object.hasOwn(before.definitions, edit.name);
      return `${edit.value === undefined ? 'Delete' : known ? 'Change' : 'Add'} the node type ${edit.name}`;
    }
    case 'renameDefinition':
      return `Rename the node type ${edit.from} to ${edit.to}`;
  }
}

function connected(
  edges: readonly { source: string; target: string }[],
  name: (id: string) => string,
): string {
  const [edge] = edges;
  return edge ? `Connect ${name(edge.source)} to ${name(edge.target)}` : 'Connect';
}

function changedData(edit: { field: string; value?: unknown }, what: string): string {
  const on = edit.value !== undefined && edit.value !== false;
  switch (edit.field) {
    case 'disabled':
      return `${on ? 'Disable' : 'Enable'} ${what}`;
    case 'pin':
      return `${on ? 'Pin' : 'Unpin'} ${what}`;
    case 'notes':
      return `Change the note of ${what}`;
    default:
      return `Change ${edit.field} of ${what}`;
  }
}

/** "3 nodes", "1 node and 2 edges". */
export function counted(nodes: number, edges: number, notes: number): string {
  const part = (count: number, one: string) => (count ? [`${count} ${one}${count === 1 ? '' : 's'}`] : []);
  // What is added along with nodes are their edges, which need no mention.
  const parts = [...part(nodes, 'node'), ...(nodes ? [] : part(edges, 'edge')), ...part(notes, 'note')];
  return parts.join(' and ') || 'nothing';
}
