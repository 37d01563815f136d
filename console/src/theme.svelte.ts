/** Light, dark, or as the system has it. */

export type Choice = 'system' | 'light' | 'dark';

const KEY = 'heddle.theme';
const CHOICES: readonly Choice[] = ['system', 'light', 'dark'];

function stored(): Choice {
  try {
    return CHOICES.find((choice) => choice === localStorage.getItem(KEY)) ?? 'system';
  } catch {
    return 'system';
  }
}

class Theme {
  choice = $state<Choice>(stored());

  apply(choice: Choice = this.choice): void {
    this.choice = choice;
    const root = document.documentElement;
    if (choice === 'system') delete root.dataset['theme'];
    else root.dataset['theme'] = choice;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // Without storage, the choice lasts as long as the page.
    }
  }
}

export const theme = new Theme();
