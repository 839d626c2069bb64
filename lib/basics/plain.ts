/** What would break a line, or steer a terminal. */
// oxlint-disable-next-line no-control-regex -- these are the signs that it is about
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g;

/** Returns a text without what would break a line or steer a terminal. */
export const plain = (text: string): string => text.replace(CONTROL, ' ');
