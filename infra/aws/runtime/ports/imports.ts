/** Not offered: a file is larger than what a function may be sent, and its import takes longer than one may run. */
export const imports = () => null;
