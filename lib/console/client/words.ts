/** Words as pages write them. */

/** Returns a word as a sentence begins. */
export const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Returns how many there are of something: `1 tile`, `1,200 tiles`. */
export const counted = (n: number, word: string): string => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;
