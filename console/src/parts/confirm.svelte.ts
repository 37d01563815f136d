/** Questions before something can't be taken back. */

export interface Question {
  title: string;
  text: string;
  /** The button's text: what will happen. */
  action: string;
  run: () => Promise<void>;
}

class Confirm {
  question = $state.raw<Question>();
}

export const confirmation = new Confirm();

/** Asks, and does it when the answer is yes; an error is shown in the dialog. */
export function confirm(question: Question): void {
  confirmation.question = question;
}
