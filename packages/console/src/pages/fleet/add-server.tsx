/** The form for an MCP server over HTTP. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { DeviceDetail } from "@tendon/protocol";
import { useId, useState } from "react";
import { api } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { type Key, useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { TextInput } from "../../ui/field.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote } from "../../ui/problem.tsx";

const fields = ["alias", "url", "header"] as const;
type Field = (typeof fields)[number];
type Draft = Readonly<Record<Field, string>>;

const labels = {
  alias: ["add.serverAlias", "add.serverAliasHint"],
  url: ["add.serverUrl", "add.serverUrlHint"],
  header: ["add.serverHeader", "add.serverHeaderHint"],
} as const satisfies Record<Field, readonly [Key, Key]>;
const empty: Draft = { alias: "", url: "", header: "" };

export function ServerSteps({ onAdded }: { readonly onAdded: (device: string) => void }) {
  const { t } = useI18n();
  const id = useId();
  const client = useQueryClient();
  const [draft, setDraft] = useState(empty);
  const add = useMutation({
    mutationFn: (body: object) => api<DeviceDetail>("/devices/http", { method: "POST", body }),
    onSuccess: (device) => {
      setDraft(empty);
      onAdded(device.id);
      return client.invalidateQueries({ queryKey: keys.fleets });
    },
  });
  return (
    <form
      className="flex flex-col items-start gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate(requestOf(draft));
      }}
    >
      {fields.map((field) => (
        <div key={field} className="flex w-full flex-col gap-1">
          <label htmlFor={`${id}-${field}`} className="text-sm font-medium">
            {t(labels[field][0])}
          </label>
          <TextInput
            id={`${id}-${field}`}
            required={field !== "header"}
            type={field === "header" ? "password" : "text"}
            autoComplete="off"
            maxLength={field === "alias" ? 24 : 2_048}
            aria-describedby={`${id}-${field}-hint`}
            value={draft[field]}
            onChange={({ target }) => setDraft({ ...draft, [field]: target.value })}
          />
          <p id={`${id}-${field}-hint`} className="text-sm text-soft">
            {t(labels[field][1])}
          </p>
        </div>
      ))}
      <Button type="submit" look="primary" icon="plus" disabled={add.isPending}>
        {t("add.serverAdd")}
      </Button>
      <p role="status" className="text-ok empty:hidden">
        {add.isSuccess && t("add.serverAdded")}
      </p>
      {add.isError && <ProblemNote error={add.error} />}
      <GuideLink guide="http-devices">{t("action.guide")}</GuideLink>
    </form>
  );
}

function requestOf({ alias, url, header }: Draft): object {
  const value = header.trim();
  return {
    alias: alias.trim(),
    url: url.trim(),
    ...(value === "" ? {} : { headers: { Authorization: value } }),
  };
}
