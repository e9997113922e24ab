UPDATE keypairs SET secret_key = '$secret_key' WHERE access_key = '$access_key';
