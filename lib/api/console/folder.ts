/** Where the console's built files lie: below the program on one machine, beside the function's code on AWS. */
export const CONSOLE_FOLDER = new URL('../../../build/console/', import.meta.url);
