/** Not offered: a browser is larger than all of a function may be. */
export const pictures = () => null;
