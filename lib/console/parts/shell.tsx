import {
  AppShell,
  Burger,
  Button,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Select,
  Text,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { type RefObject, useEffect, useRef } from 'react';
import { useMe, useProject } from '../client/access.ts';
import { ADDRESS, Refusal } from '../client/api.ts';
import { useOrganizations } from '../client/organization.ts';
import { signOut } from '../client/session.ts';
import { PAGES } from '../pages.ts';
import { useParam } from './address.ts';
import { NothingHere } from './not-found.tsx';

/** What stands around every page of a project: menu, choice of project, colours, the way out. */
export function Shell() {
  const project = useParam('project');
  // Of the page that is shown: another one may be on its way.
  const pathname = useRouterState({
    select: ({ resolvedLocation, location }) => (resolvedLocation ?? location).pathname,
  });
  const [isOpen, { toggle, close }] = useDisclosure(false);
  useEffect(close, [pathname]);
  const main = useRef<HTMLElement>(null);
  useFocusOfPages(main, pathname);
  const { data, error } = useProject(project);
  const entries = PAGES.flatMap(({ path, menu }) =>
    menu === undefined ? [] : [{ menu, to: path.replace('$project', project) }],
  );
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
      transitionDuration={0}
    >
      <Button className="skip" size="xs" onClick={() => main.current?.focus()}>
        Skip to the page
      </Button>
      <AppShell.Header>
        <Group h="100%" px="md" gap="sm" wrap="nowrap" justify="space-between">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Menu"
              aria-expanded={isOpen}
            />
            <Text fw={700} visibleFrom="xs">
              Workspace
            </Text>
            <ProjectChoice />
          </Group>
          <AccountMenu />
        </Group>
      </AppShell.Header>
      {/* A closed menu is not there for the keyboard either. */}
      <AppShell.Navbar p="xs" component="nav" aria-label="Pages" {...(isOpen ? {} : { visibleFrom: 'sm' })}>
        <AppShell.Section grow component={ScrollArea}>
          {entries.map(({ menu, to }) => (
            <NavLink
              key={to}
              component={Link}
              to={to}
              label={menu}
              active={pathname === to || pathname.startsWith(`${to}/`)}
              aria-current={pathname === to ? 'page' : undefined}
            />
          ))}
          <NavLink href={`${ADDRESS}/api/schema/docs/`} target="_blank" rel="noreferrer" label="Reference" />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main ref={main} tabIndex={-1}>
        {data === undefined && error instanceof Refusal && error.status === 404 ? (
          <NothingHere what={`There is no project ${project}, or it is not for you to see.`} />
        ) : (
          <Outlet />
        )}
      </AppShell.Main>
    </AppShell>
  );
}

/** Leads the focus into a page that the menu, or a link or button that is gone, has led to: what it has is read and reached first. */
function useFocusOfPages(main: RefObject<HTMLElement | null>, pathname: string): void {
  const last = useRef(pathname);
  useEffect(() => {
    if (pathname === last.current) return;
    last.current = pathname;
    const focused = document.activeElement;
    if (focused === document.body || focused?.closest('nav') !== null) main.current?.focus({ preventScroll: true });
  }, [main, pathname]);
}

function ProjectChoice() {
  const id = useParam('project');
  const { data: me } = useMe();
  const { data: project } = useProject(id);
  const navigate = useNavigate();
  const { data: organizations } = useOrganizations(me !== undefined && me !== null);
  const groups = (organizations ?? []).map(({ name, projects }) => ({
    group: name,
    items: projects.map((one) => ({ value: String(one.id), label: one.name })),
  }));
  const isKnown = groups.some(({ items }) => items.some(({ value }) => value === id));
  const name = project?.name ?? `Project ${id}`;
  if (groups.length === 0) return <Text truncate>{name}</Text>;
  return (
    <Select
      aria-label="Project"
      data={groups}
      // Of one that was deleted, or is not for them, a reader finds the way to the others.
      value={isKnown ? id : null}
      placeholder={name}
      allowDeselect={false}
      onChange={(value) => value !== null && void navigate({ to: `/projects/${value}/home` })}
      size="xs"
      maw={220}
    />
  );
}

function AccountMenu() {
  const { data: me } = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const name = me === undefined || me === null ? 'Account' : me.first_name || me.email;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" size="xs">
          {name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Colours</Menu.Label>
        {(['auto', 'light', 'dark'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            role="menuitemradio"
            aria-checked={scheme === colorScheme}
            onClick={() => setColorScheme(scheme)}
            fw={scheme === colorScheme ? 700 : undefined}
          >
            {{ auto: 'As the system', light: 'Light', dark: 'Dark' }[scheme]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={signOut}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
