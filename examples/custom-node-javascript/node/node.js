// Triage: how urgent a message is, by the words in it.
//
// Input: {text, …}. A message leaves by `urgent` or by `normal`, with its score and the words that made it. The
// parameter `words` gives their weights; from `threshold` on a message is urgent.

import { write } from 'heddle:node/log@0.1.0';

export function execute(input, parameters, context) {
  const message = JSON.parse(input);
  const { words = {}, threshold = 3 } = JSON.parse(parameters);
  if (typeof message?.text !== 'string') {
    throw { code: 'NO_TEXT', message: 'The input has no text.' };
  }
  const found = [];
  let score = 0;
  for (const [word] of message.text.toLowerCase().matchAll(/[^\s.,;:!?]+/g)) {
    const weight = words[word];
    if (weight) {
      found.push(word);
      score += weight;
    }
  }
  const { item, run } = JSON.parse(context);
  write('debug', `run ${run.id}: ${item?.id ?? 'message'} scores ${score}`);
  const rated = { ...message, score, words: found };
  return JSON.stringify(score >= threshold ? { urgent: rated } : { normal: rated });
}
