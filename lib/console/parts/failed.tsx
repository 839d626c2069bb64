import { Button, Text, Title } from '@mantine/core';

/** What stands where a page was to be that could not be loaded or drawn; what is around it stays. */
export function Failed() {
  return (
    <>
      <Title order={1} size="h2" mb="md">
        This page cannot be shown
      </Title>
      <Text mb="md">A part of it was not loaded, or has failed.</Text>
      <Button onClick={() => location.reload()}>Load it again</Button>
    </>
  );
}
