/**
 * The graph as a tree, the canvas's equal for keyboards and screen readers: it does every edit.
 *
 *     <Outline {session} readOnly={false} {problems} {run} onopen={(nodeId) => …} />
 *
 * The properties are those of the canvas's `Editor` (canvas/index.ts). With `standalone` it needs no canvas beside it,
 * as on a phone, and shows the palette and the like itself. It fills its parent.
 */
export { default as Outline } from './Outline.svelte';
