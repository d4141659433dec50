/** ⌘K: to any device, page or action, by a few letters. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { DeviceDetail, DeviceList, ToolList } from "@tendon/protocol";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useState } from "react";
import { useLocation } from "wouter";
import { api, query } from "../api/client.ts";
import { keys } from "../api/queries.ts";
import { useWords } from "../i18n/i18n.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { deviceAddress, usePlaces } from "./navigation.ts";
import { chooseTheme } from "./theme.ts";

interface Entry {
  readonly id: string;
  readonly icon: IconName;
  readonly title: string;
  readonly hint: string;
  readonly run: () => void;
}

export function Palette({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { t } = useWords();
  return (
    <Dialog open={open} onClose={onClose} title={t("palette.title")} hideTitle top>
      {open && <Finder onClose={onClose} />}
    </Dialog>
  );
}

function Finder({ onClose }: { readonly onClose: () => void }) {
  const { t } = useWords();
  const id = useId();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const entries = useEntries(text.trim());
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setChosen((entries.length + chosen + step) % Math.max(1, entries.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(entries[chosen]);
    }
  };
  return (
    <div className="flex min-h-0 flex-col">
      <div className="flex items-center gap-2 border-b border-line px-4">
        <span className="text-soft">
          <Icon name="search" />
        </span>
        <input
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={entries[chosen] === undefined ? undefined : `${id}-${chosen}`}
          aria-label={t("palette.title")}
          placeholder={t("palette.hint")}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            setChosen(0);
          }}
          onKeyDown={press}
          className="h-12 w-full bg-transparent text-base outline-none placeholder:text-soft"
        />
      </div>
      <div id={id} role="listbox" aria-label={t("palette.title")} className="max-h-80 overflow-y-auto p-1">
        {entries.length === 0 && <p className="p-3 text-soft">{t("palette.nothing")}</p>}
        {entries.map((entry, at) => (
          <div
            key={entry.id}
            id={`${id}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === chosen}
            onClick={() => run(entry)}
            onKeyDown={press}
            onMouseMove={() => setChosen(at)}
            className="flex cursor-pointer items-center gap-3 rounded-lg px-3 py-2 aria-selected:bg-accent-soft"
          >
            <Icon name={entry.icon} />
            <span className="truncate">{entry.title}</span>
            <span className="ml-auto truncate text-sm text-soft">{entry.hint}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

function useEntries(text: string): readonly Entry[] {
  const { t } = useWords();
  const [, navigate] = useLocation();
  const places = usePlaces();
  const q = useDeferredValue(text);
  const { data } = useQuery({
    queryKey: ["palette", q],
    queryFn: ({ signal }) => api<DeviceList>(`/devices${query({ q, limit: 8 })}`, { signal }),
    staleTime: 5_000,
  });
  const needle = text.toLowerCase();
  // The answer may still be the one to fewer letters.
  const found = (data?.devices ?? []).filter(({ id, alias, board, tags }) =>
    [id, alias, board ?? "", ...tags].some((word) => word.toLowerCase().includes(needle)),
  );
  const devices = found.map(
    ({ id, alias, board, online }): Entry => ({
      id,
      icon: "fleet",
      title: alias,
      hint: [board, online ? t("device.online") : t("device.offline")]
        .filter((word) => word !== null)
        .join(" · "),
      run: () => navigate(deviceAddress(id)),
    }),
  );
  const pages = places.map(
    ({ to, icon, word }): Entry => ({
      id: to,
      icon,
      title: t(word),
      hint: t("palette.page"),
      run: () => navigate(to),
    }),
  );
  const themes = (["light", "dark"] as const).map(
    (theme): Entry => ({
      id: theme,
      icon: theme === "light" ? "sun" : "moon",
      title: t(`theme.${theme}`),
      hint: t("shell.theme"),
      run: () => chooseTheme(theme),
    }),
  );
  const tools = useKnownTools(needle).map(
    ({ device, alias, tool }): Entry => ({
      id: `${device} ${tool}`,
      icon: "bolt",
      title: tool,
      hint: alias,
      run: () => navigate(`${deviceAddress(device)}#${encodeURIComponent(tool)}`),
    }),
  );
  const fitting = [...pages, ...themes].filter(({ title }) => title.toLowerCase().includes(needle));
  return text === "" ? [...fitting.slice(0, places.length), ...devices] : [...devices, ...tools, ...fitting];
}

const mostTools = 8;

/** Tools of the devices that were looked at: their lists are here already. */
function useKnownTools(needle: string) {
  const client = useQueryClient();
  if (needle === "") return [];
  const lists = client.getQueriesData<ToolList>({
    predicate: ({ queryKey }) => queryKey[0] === "device" && queryKey[2] === "tools",
  });
  return lists
    .flatMap(([key, list]) => {
      const device = String(key[1]);
      const alias = client.getQueryData<DeviceDetail>(keys.device(device))?.alias ?? device;
      return (list?.tools ?? []).map(({ name }) => ({ device, alias, tool: name }));
    })
    .filter(({ tool }) => tool.toLowerCase().includes(needle))
    .slice(0, mostTools);
}

/** Opens by ⌘K or Ctrl K from anywhere. */
export function usePaletteKey(): readonly [boolean, (open: boolean) => void] {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setOpen((before) => !before);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return [open, setOpen];
}
