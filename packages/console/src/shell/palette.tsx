/** The command palette (⌘K): finds devices, tools, pages and actions. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { DeviceList, NamedTools } from "@tendon/protocol";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { api, query } from "../api/client.ts";
import { useI18n } from "../i18n/i18n.tsx";
import type { FoundGuide } from "../pages/guide/guide-list.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { titleOf } from "../ui/tool-names.ts";
import { deviceAddress, guideAddress, toolAddress, usePlaces } from "./navigation.ts";
import { chooseTheme } from "./theme.ts";

interface Entry {
  readonly id: string;
  readonly icon: IconName;
  readonly title: string;
  readonly hint: string;
  /** Hidden on narrow screens, where the title needs the space. */
  readonly minorHint?: boolean;
  /** Whether it opens another page, which then takes the focus. */
  readonly leads: boolean;
  readonly run: () => void;
}

export function Palette({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { t } = useI18n();
  const leaves = useRef(false);
  const close = (leading: boolean) => {
    leaves.current = leading;
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={() => close(false)}
      title={t("palette.title")}
      hideTitle
      wide
      top
      returnsFocus={() => !leaves.current}
    >
      {open && <Finder onClose={close} />}
    </Dialog>
  );
}

/** A field and the entries that match it. The page for unknown addresses shows it too. */
export function Finder({ onClose }: { readonly onClose: (leading: boolean) => void }) {
  const { t } = useI18n();
  const id = useId();
  const [text, setText] = useState("");
  // Selected by id, because results that arrive later change the positions.
  const [wanted, setWanted] = useState<string>();
  const entries = useEntries(text.trim());
  const chosen = Math.max(
    0,
    entries.findIndex((entry) => entry.id === wanted),
  );
  const choose = (at: number) => setWanted(entries[at]?.id);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (wanted !== undefined) list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [wanted, chosen]);
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose(entry.leads);
    entry.run();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      choose((entries.length + chosen + step) % Math.max(1, entries.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(entries[chosen]);
    }
  };
  return (
    <div className="flex min-h-0 flex-col">
      <div className="flex items-center gap-2 border-b border-line pr-12 pl-4">
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
            setWanted(undefined);
          }}
          onKeyDown={press}
          className="h-12 w-full bg-transparent text-base outline-none placeholder:text-soft"
        />
      </div>
      <div
        ref={list}
        id={id}
        role="listbox"
        aria-label={t("palette.title")}
        className="max-h-80 overflow-y-auto p-1"
      >
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
            onMouseMove={() => choose(at)}
            className="flex cursor-pointer items-center gap-3 rounded-lg px-3 py-2 aria-selected:bg-accent-soft"
          >
            <Icon name={entry.icon} />
            <span
              className={`truncate ${entry.minorHint === true ? "min-w-0 sm:max-w-[75%] sm:shrink-0" : "max-w-[75%] shrink-0"}`}
            >
              {entry.title}
            </span>
            <span
              className={`ml-auto min-w-0 truncate text-sm text-soft ${entry.minorHint === true ? "max-sm:hidden" : ""}`}
            >
              {entry.hint}
            </span>
          </div>
        ))}
      </div>
    </div>
  );
}

function useEntries(text: string): readonly Entry[] {
  const { t } = useI18n();
  const [, navigate] = useLocation();
  const places = usePlaces();
  const q = useDeferredValue(text);
  const { data } = useQuery({
    queryKey: ["palette", "devices", q],
    queryFn: ({ signal }) => api<DeviceList>(`/devices${query({ q, limit: 8 })}`, { signal }),
    placeholderData: keepPreviousData,
    staleTime: 5_000,
  });
  const needle = text.toLowerCase();
  // The result may still belong to a shorter query.
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
      leads: true,
      run: () => navigate(deviceAddress(id)),
    }),
  );
  const pages = places.map(
    ({ to, icon, label }): Entry => ({
      id: to,
      icon,
      title: t(label),
      hint: t("palette.page"),
      leads: true,
      run: () => navigate(to),
    }),
  );
  const themes = (["light", "dark"] as const).map(
    (theme): Entry => ({
      id: theme,
      icon: theme === "light" ? "sun" : "moon",
      title: t(`theme.${theme}`),
      hint: t("shell.theme"),
      leads: false,
      run: () => chooseTheme(theme),
    }),
  );
  const tools = useTools(q, needle).map(
    ({ device, alias, tool, audience, online }): Entry => ({
      id: `${device} ${tool}`,
      icon: audience === "user" ? "lock" : "bolt",
      title: `${alias} › ${titleOf(tool)}`,
      hint: online ? tool : t("device.offline"),
      minorHint: online,
      leads: true,
      run: () => navigate(toolAddress(device, tool)),
    }),
  );
  const guides = useGuides(text).map(
    ({ guide, headings: [heading] }): Entry => ({
      id: `guide ${guide.name}`,
      icon: "guides",
      title: guide.title,
      hint: heading === undefined ? t("palette.guide") : `${t("palette.guide")} · ${heading.text}`,
      minorHint: true,
      leads: true,
      run: () => navigate(`${guideAddress(guide.name)}${heading === undefined ? "" : `#${heading.slug}`}`),
    }),
  );
  const fitting = [...pages, ...themes].filter(({ title }) => title.toLowerCase().includes(needle));
  return text === ""
    ? [...fitting.slice(0, places.length), ...devices]
    : [...devices, ...tools, ...fitting, ...guides];
}

/** The gateway searches the tools, because a fleet has more tools than the page should load. */
function useTools(q: string, needle: string): NamedTools["tools"] {
  const { data } = useQuery({
    queryKey: ["palette", "tools", q],
    queryFn: ({ signal }) => api<NamedTools>(`/tools${query({ q, limit: 8 })}`, { signal }),
    enabled: q !== "",
    placeholderData: keepPreviousData,
    staleTime: 5_000,
  });
  const words = needle.split(/\s+/);
  if (needle === "") return [];
  return (data?.tools ?? []).filter(({ alias, tool }) =>
    words.every((word) => `${tool} ${alias}`.toLowerCase().includes(word)),
  );
}

const maxGuides = 5;
/** Shorter texts match too many headings. */
const shortestGuideSearch = 2;

/** Guides by title and heading. Their list is loaded when it is first needed. */
function useGuides(text: string): readonly FoundGuide[] {
  const { code } = useI18n();
  const wanted = text.length >= shortestGuideSearch;
  const { data } = useQuery({
    queryKey: ["palette", "guides"],
    queryFn: async () => await import("../pages/guide/guide-list.ts"),
    enabled: wanted,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!wanted || data === undefined) return [];
  return data.searchGuides(data.listGuides(code), text).slice(0, maxGuides);
}

/** Opens the palette with ⌘K or Ctrl+K on every page. */
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
