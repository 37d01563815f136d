/**
 * The canvas, for whoever composes screens. The only folder that knows Svelte Flow.
 *
 *     <Editor {session} readOnly={false} {problems} {run} onopen={(nodeId) => …} />
 *
 * | property   |                                                                                              |
 * | ---------- | -------------------------------------------------------------------------------------------- |
 * | `session`  | `Session` (graph/session.ts): document, catalogue, selection, open level, commands            |
 * | `readOnly` | shows only; nothing can be changed (runs, versions, viewers)                                  |
 * | `problems` | the validator's `Problem[]` of the whole document                                            |
 * | `run`      | `RunOverlay` (graph/trace.ts) of a run to show on the graph, or null                          |
 * | `diff`     | `DocDiff` (graph/diff.ts) to colour nodes and edges by, or null; the document is its `union`  |
 * | `conflicts`| `ConflictMarks` (graph/conflicts.ts) of the open graph: what others have changed differently, or null |
 * | `callout`  | a snippet to show beside a node or an edge, or null                                           |
 * | `opensAt`  | the node to begin at, if not all of the graph can be seen                                      |
 * | `shared`   | an `Observable<Viewport | null>` that several canvases have, so that they show the same part  |
 * | `onopen`   | Enter or double click on a node: open the inspector                                           |
 *
 * It fills its parent, which gives it a size, and needs the tokens of style/. `commandsOf(session, readOnly)`
 * (graph/commands.ts) lists what can be done, for a command menu; `session.reveal('checkout/pay')` brings a node into
 * view, opens its composite if need be, and selects it; `session.ask({kind: 'palette'})` opens the palette.
 */
export { chosenFile, componentFile } from './add';
export { default as Editor } from './Editor.svelte';
export type { Viewport } from './cells';
export { iconOf, kindOf, type Kind } from './icons';
