print("s3mirror")
