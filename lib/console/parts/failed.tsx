import { Button, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { ADDRESS } from '../client/api.ts';

/** What stands where a page was to be that could not be loaded or drawn; what is around it stays. */
export function Failed() {
  const [isAway, setAway] = useState(false);
  // A page that is loaded while the service does not answer is the browser's own.
  const reload = (): void =>
    void fetch(ADDRESS, { cache: 'no-store' }).then(
      () => location.reload(),
      () => setAway(true),
    );
  return (
    <>
      <Title order={1} size="h2" mb="md">
        This page cannot be shown
      </Title>
      <Text mb="md">A part of it was not loaded, or has failed.</Text>
      {isAway && (
        <Text mb="md" role="alert">
          The service cannot be reached.
        </Text>
      )}
      <Button onClick={reload}>Load it again</Button>
    </>
  );
}
