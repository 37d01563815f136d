/** Lays a graph out beside the page. */
import { tidied, type LayoutInput } from '../graph/layout';

self.onmessage = ({ data }: MessageEvent<LayoutInput>) => self.postMessage(tidied(data));
