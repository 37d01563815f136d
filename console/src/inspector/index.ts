/**
 * The inspector, for whoever composes screens. No request leaves from here but by the `InspectorApi` that it is given.
 *
 * | component    |                                                                                             |
 * | ------------ | ------------------------------------------------------------------------------------------- |
 * | `Inspector`  | everything that can be set of a node                                                        |
 * | `OwnType`    | name, code or values, and ports of a node type of the pattern's own; loaded when there is one |
 * | `Problems`   | the validator's findings by node; `onopen` gives the one that was picked                    |
 * | `DataDrawer` | what arrives at the chosen node and what leaves it; values go into the field with the focus; loaded when it is opened |
 *
 * One `InsertTargets` for an editor joins the inspector and the data drawer. `surroundingsOf` finds what a node's
 * expressions can name, with sample data, from the document and from what has run.
 */
export type {
  ConnectionChoice,
  Diagnostic,
  Evaluated,
  InspectorApi,
  PatternChoice,
  Preview,
  PreviewAnswer,
  PreviewRequest,
  Vocabulary,
} from './api';
export { default as Inspector } from './Inspector.svelte';
export { InsertTargets } from './insert-targets.svelte';
export { countText } from './problems';
export { default as Problems } from './Problems.svelte';
export { NO_SURROUNDINGS, type Sample, type SampleKind, type Surroundings } from './sample';
export {
  arrivedAt,
  NO_SOURCES,
  outputSample,
  type SourceRun,
  type Sources,
  surroundingsOf,
} from './surroundings';
