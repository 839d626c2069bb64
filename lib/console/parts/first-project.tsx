import { Text, Title } from '@mantine/core';
import { ADMIN } from '../client/organization.ts';
import type { Organization } from '../client/settings.ts';
import { NewProject } from './new-project.tsx';

const NAMES = new Intl.ListFormat('en');

/** Where somebody is in organizations that have no project: they make one, if they may. */
export default function FirstProject({ organizations }: { readonly organizations: readonly Organization[] }) {
  const own = organizations.filter(({ membership_level }) => membership_level >= ADMIN);
  return (
    <>
      <Title order={1} size="h2">
        No project yet
      </Title>
      <Text c="dimmed" size="sm">
        You are in {NAMES.format(organizations.map(({ name }) => name))}, where no project is yet.
        {own.length === 0 && ' Ask an admin to make one.'}
      </Text>
      {own.map(({ id, name }) => (
        <NewProject key={id} organization={id} label={`New project in ${name}`} />
      ))}
    </>
  );
}
