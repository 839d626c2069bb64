/** A query or filter that is not exported, and the text that its author reads. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

export function refuse(text: string): never {
  throw new Refusal(text);
}
