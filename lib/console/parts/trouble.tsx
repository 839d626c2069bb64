import { Alert } from '@mantine/core';

interface TroubleProps {
  readonly paused_reason: string | null;
  readonly latest_error: string | null;
}

/** Why something that works by itself was disabled, or what was wrong the last time; nothing where all is well. */
export function Trouble({ paused_reason, latest_error }: TroubleProps) {
  const text = paused_reason === null ? latest_error : `It is disabled. ${paused_reason}`;
  return (
    text !== null && (
      <Alert color="orange" variant="outline" role="alert">
        {text}
      </Alert>
    )
  );
}
