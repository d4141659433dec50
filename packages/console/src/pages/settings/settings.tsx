/** The settings of the gateway's run, read-only, with where each comes from. Search and filter are part of the address. */
import { useQuery } from "@tanstack/react-query";
import type { SettingList, SettingView } from "@tendon/protocol";
import { useId } from "react";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { useAddressFilter } from "../../shell/address-filter.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { AdminOnly } from "../../ui/admin-only.tsx";
import { Button } from "../../ui/button.tsx";
import { Switch } from "../../ui/controls.tsx";
import { SearchInput } from "../../ui/field.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, Empty, Panel, SkeletonRows } from "../../ui/states.tsx";
import { InlineLine } from "../guide/guide-text.tsx";
import { readInline } from "../guide/markdown.ts";
import { HomeAssistantCard } from "./home-assistant-card.tsx";

export function SettingsPage() {
  const { t } = useI18n();
  return (
    <>
      <PageHeader
        title={t("settings.title")}
        lead={t("settings.lead")}
        actions={<GuideLink guide="configuration">{t("settings.guide")}</GuideLink>}
      />
      <AdminOnly>
        <HomeAssistantCard />
        <Settings />
      </AdminOnly>
    </>
  );
}

function Settings() {
  const { t } = useI18n();
  const { may } = useSession();
  const switchId = useId();
  const [given, change] = useAddressFilter(["q", "changed"]);
  const { data, error } = useQuery({
    queryKey: ["settings"],
    queryFn: ({ signal }) => api<SettingList>("/settings", { signal }),
    enabled: may("admin"),
  });
  if (data === undefined) return error === null ? <SkeletonRows /> : <ProblemNote error={error} />;
  const found = data.settings.filter(
    (setting) => fits(setting, given.q) && (given.changed === "" || setting.source !== "default"),
  );
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center gap-x-6 gap-y-2">
        <SearchInput
          className="w-full sm:w-80"
          aria-label={t("settings.search")}
          placeholder={t("settings.search")}
          value={given.q}
          onChange={({ target }) => change({ q: target.value })}
        />
        <span className="flex items-center gap-2">
          <Switch
            id={switchId}
            checked={given.changed !== ""}
            onChange={(on) => change({ changed: on ? "1" : "" })}
          />
          <label htmlFor={switchId}>{t("settings.changed")}</label>
        </span>
      </div>
      {found.length === 0 && (
        <Empty icon="settings" title={t("settings.none")}>
          <Button onClick={() => change({ q: "", changed: "" })}>{t("audit.clear")}</Button>
        </Empty>
      )}
      <div className="grid grid-cols-1 gap-5">
        {bySection(found).map(([section, settings]) => (
          <Panel key={section} title={section === "" ? t("settings.general") : section}>
            <dl className="divide-y divide-line">
              {settings.map((setting) => (
                <SettingRow key={setting.name} setting={setting} />
              ))}
            </dl>
          </Panel>
        ))}
      </div>
    </>
  );
}

const tones = { default: "neutral", file: "accent", environment: "accent", command: "accent" } as const;

function SettingRow({ setting }: { readonly setting: SettingView }) {
  const { t } = useI18n();
  const { name, value, source, place, description } = setting;
  return (
    <div className="grid grid-cols-1 gap-x-4 gap-y-1 px-4 py-2.5 md:grid-cols-[minmax(0,5fr)_minmax(0,4fr)_minmax(0,3fr)]">
      <dt className="min-w-0">
        <code className="font-mono text-sm break-words">{name}</code>
        <span lang="en" className="block text-sm break-words text-soft">
          <InlineLine text={readInline(description)} />
        </span>
      </dt>
      <dd className="min-w-0 font-mono text-sm break-words whitespace-pre-wrap">
        <Value value={value} />
      </dd>
      <dd className="min-w-0 text-sm">
        <Badge tone={tones[source]}>{t(`settings.source.${source}`)}</Badge>
        {place !== undefined && (
          <code className="mt-0.5 block font-mono text-xs break-words text-soft">{place}</code>
        )}
      </dd>
    </div>
  );
}

function Value({ value }: { readonly value: unknown }) {
  const { t } = useI18n();
  if (value === null || value === undefined)
    return <span className="font-sans text-soft">{t("settings.unset")}</span>;
  if (typeof value !== "object") return String(value);
  return JSON.stringify(value, null, 1);
}

/** All words occur in the name, the description, the value or the place. */
function fits({ name, description, value, place }: SettingView, text: string): boolean {
  const all = `${name} ${description} ${JSON.stringify(value)} ${place ?? ""}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

/** By the first part of the name; single settings such as `data` come together, first. */
function bySection(settings: readonly SettingView[]): [string, SettingView[]][] {
  const groups = new Map<string, SettingView[]>();
  for (const setting of settings) {
    const section = setting.name.includes(".") ? (setting.name.split(".")[0] ?? "") : "";
    groups.set(section, [...(groups.get(section) ?? []), setting]);
  }
  return [...groups].sort(([a], [b]) => Number(b === "") - Number(a === ""));
}
