-- SPDX-License-Identifier: GPL-2.0
-- wrk compares each body with the file that WANT in the environment names.
local threads = {}

function setup(thread)
	table.insert(threads, thread)
end

function init(args)
	local f = assert(io.open(os.getenv("WANT"), "rb"))

	want = f:read("*a")
	f:close()
	right, wrong = 0, 0
end

function response(status, headers, body)
	if status == 200 and body == want then
		right = right + 1
	else
		wrong = wrong + 1
	end
end

function done(summary, latency, requests)
	local right, wrong = 0, 0

	for _, t in ipairs(threads) do
		right = right + t:get("right")
		wrong = wrong + t:get("wrong")
	end
	print("bodies right: " .. right)
	print("bodies wrong: " .. wrong)
end
