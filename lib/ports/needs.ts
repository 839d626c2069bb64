/** A port, other than the table, that a handler touches; infra grants exactly these. */
export type Need =
  | 'workflow'
  | 'vault'
  | 'lake'
  | 'runFiles'
  | 'outbound'
  | 'compiler'
  | 'reader'
  | 'personRemoval'
  | 'answers'
  | 'imports'
  | 'pictures'
  | 'testTurns';
