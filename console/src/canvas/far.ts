/** Draws a scene as boxes and lines, for views from afar and for the minimap. */
import type { Selection } from '../graph/clipboard';
import type { Viewport } from './cells';
import type { Colors } from './colors';
import type { NodeView, Scene } from './scene';

export interface FarOptions {
  readonly selection: Selection;
  readonly colors: Colors;
  /** Of the screen, in CSS pixels. */
  readonly width: number;
  readonly height: number;
  readonly scale: number;
  readonly edges: boolean;
}

export function drawFar(
  context: CanvasRenderingContext2D,
  scene: Scene,
  viewport: Viewport,
  options: FarOptions,
): void {
  const { colors, scale } = options;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, options.width, options.height);
  context.setTransform(
    scale * viewport.zoom,
    0,
    0,
    scale * viewport.zoom,
    scale * viewport.x,
    scale * viewport.y,
  );
  if (options.edges) drawEdges(context, scene, viewport, colors);
  for (const note of scene.notes) {
    context.fillStyle = colors.warn;
    context.globalAlpha = 0.15;
    context.fillRect(note.position.x, note.position.y, note.width, note.height);
    context.globalAlpha = 1;
  }
  for (const view of scene.nodes.values()) drawNode(context, view, options);
}

/** All lines as one path: the number of strokes is what costs. */
function drawEdges(
  context: CanvasRenderingContext2D,
  scene: Scene,
  viewport: Viewport,
  colors: Colors,
): void {
  context.lineWidth = Math.max(1.5, 1 / viewport.zoom);
  for (const [live, style] of [
    [false, colors.edge],
    [true, colors.ok],
  ] as const) {
    context.strokeStyle = style;
    context.beginPath();
    for (const { ends, times } of scene.edges.values()) {
      if ((times !== undefined && times > 0) !== live) continue;
      context.moveTo(ends.sourceX, ends.sourceY);
      const reach = Math.abs(ends.targetX - ends.sourceX) / 2;
      context.bezierCurveTo(
        ends.sourceX + reach,
        ends.sourceY,
        ends.targetX - reach,
        ends.targetY,
        ends.targetX,
        ends.targetY,
      );
    }
    context.stroke();
  }
}

function drawNode(
  context: CanvasRenderingContext2D,
  view: NodeView,
  { colors, selection }: FarOptions,
): void {
  context.fillStyle = fill(view, colors);
  context.fillRect(view.x, view.y, view.width, view.height);
  if (!selection.nodes.has(view.id)) return;
  context.strokeStyle = colors.accent;
  context.lineWidth = 12;
  context.strokeRect(view.x - 8, view.y - 8, view.width + 16, view.height + 16);
}

const CHANGES = {
  added: 'ok',
  removed: 'bad',
  changed: 'warn',
  renamed: 'info',
  moved: 'info',
  same: 'line',
} as const;

function fill(view: NodeView, colors: Colors): string {
  if (view.change) return colors[CHANGES[view.change]];
  if (view.conflict === 'open') return colors.warn;
  const status = view.run?.status;
  if (status === 'failed' || view.errors) return colors.bad;
  if (status === 'running') return colors.info;
  if (status) return colors.ok;
  if (view.warnings) return colors.warn;
  return view.skipped || view.node.data?.disabled ? colors.edge : colors.line;
}
