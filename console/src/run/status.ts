/** How the states of executions look: an icon, a word and a colour. */

import { CircleCheck, CircleDot, CircleX, Clock, Pin } from '../inspector/icons';
import type { Bar } from './timeline';

export const LOOKS = {
  ok: { icon: CircleCheck, word: 'done', tone: 'ok' },
  failed: { icon: CircleX, word: 'failed', tone: 'bad' },
  pinned: { icon: Pin, word: 'pinned', tone: 'wait' },
  running: { icon: CircleDot, word: 'running', tone: 'info' },
  waiting: { icon: Clock, word: 'waiting', tone: 'info' },
} satisfies Record<Bar['status'], { icon: unknown; word: string; tone: string }>;
