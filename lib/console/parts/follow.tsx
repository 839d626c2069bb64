import { Button, Switch } from '@mantine/core';
import { useRef } from 'react';
import type { Paged } from '../client/paged.ts';

interface FollowProps {
  readonly list: Pick<Paged<unknown>, 'isReadOn' | 'showNewest'>;
  readonly isWanted: boolean;
  readonly want: (isWanted: boolean) => void;
}

/** Says whether new rows come by themselves, which they do not while somebody reads on in older ones. */
export function Follow({ list: { isReadOn, showNewest }, isWanted, want }: FollowProps) {
  const turn = (isOn: boolean): void => {
    want(isOn);
    if (isOn && isReadOn) showNewest();
  };
  const ref = useRef<HTMLInputElement>(null);
  const lead = (): void => {
    showNewest();
    // With the button the focus would be gone.
    ref.current?.focus();
  };
  return (
    <>
      <Switch
        ref={ref}
        label="Follow"
        checked={isWanted && !isReadOn}
        onChange={(event) => turn(event.currentTarget.checked)}
        mb={8}
      />
      {isReadOn && (
        <Button variant="default" onClick={lead}>
          Show the newest
        </Button>
      )}
    </>
  );
}
