/** The rules of axe that depend on the theme. */
export const COLOURS = ['color-contrast', 'link-in-text-block'];
