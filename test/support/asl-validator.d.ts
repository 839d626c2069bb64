declare module 'asl-validator' {
  /** Checks a state machine against the schemas of the Amazon States Language. */
  export default function validate(definition: unknown): { isValid: boolean; errorsText(separator?: string): string };
}
