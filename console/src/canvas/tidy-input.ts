/** What a layout is made from. Pure. */
import type { Here } from '../graph/actions';
import { isLoop, portsOf, sourcePort, targetPort } from '../graph/catalogue';
import { boxOf, GRID } from '../graph/geometry';
import type { LayoutInput } from '../graph/layout';
import { graphOf } from '../graph/model';

/** What the layout needs to know of a graph, or of some of its nodes. */
export function layoutInput(here: Here, chosen?: ReadonlySet<string>): LayoutInput {
  const graph = graphOf(here.doc, here.definition);
  const taken = graph.nodes.filter((node) => !chosen || chosen.has(node.id));
  const byId = new Map(taken.map((node) => [node.id, node]));
  const edges = graph.edges.flatMap((edge) => {
    const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
    if (!source || !target) return [];
    const { outputs } = portsOf(here.catalogue, here.doc, source);
    const from = sourcePort(portsOf(here.catalogue, here.doc, source), edge.sourceHandle);
    const to = targetPort(portsOf(here.catalogue, here.doc, target), edge.targetHandle);
    return [
      {
        source: source.id,
        target: target.id,
        port: Math.max(
          0,
          outputs.findIndex((port) => port.name === from),
        ),
        returns: isLoop(here.catalogue, target.type) && to === 'next',
        leaves: isLoop(here.catalogue, source.type) && from === 'done',
      },
    ];
  });
  return {
    nodes: taken.map((node) => {
      const { width, height } = boxOf(here.catalogue, here.doc, node);
      return { id: node.id, width, height, ...(node.position ? { position: node.position } : {}) };
    }),
    edges,
    notes: chosen ? [] : (graph.notes ?? []),
    grid: GRID,
  };
}
