import { Switch } from '@mantine/core';
import { useView } from './address.ts';

/** A switch that the address keeps by its name, and with which a list begins anew. */
export function ViewSwitch({ name, label }: { readonly name: string; readonly label: string }) {
  const [view, setView] = useView();
  return (
    <Switch
      label={label}
      checked={view[name] === 'true'}
      onChange={(event) => setView({ [name]: event.currentTarget.checked ? 'true' : undefined, page: undefined })}
      mb={8}
    />
  );
}
